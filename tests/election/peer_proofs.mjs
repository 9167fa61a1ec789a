// A second implementation of the proofs of an election, over noble-curves. It shares no code with the first one.
import { createHash, randomBytes } from 'node:crypto';
import { ristretto255 } from '@noble/curves/ed25519.js';

const P = ristretto255.Point, G = P.BASE, L = 2n ** 252n + 27742317777372353535851937790883648493n;
const PROTOCOL = Buffer.from('safemargin election 2');
const DOMAINS = {
  ballot: 'one-hot ballot', decryption: 'partial decryption of a sum', possession: 'possession of a share of the tally key',
};
const mod = (a) => ((a % L) + L) % L;
const little = (b) => BigInt('0x' + Buffer.from(b).reverse().toString('hex'));
const bytes = (s) => { const b = Buffer.from(s.toString(16).padStart(64, '0'), 'hex'); return b.reverse(); };
const point = (b) => P.fromHex(Buffer.from(b).toString('hex'));
const enc = (p) => Buffer.from(p.toBytes());
const times = (p, s) => (mod(s) === 0n || p.equals(P.ZERO) ? P.ZERO : p.multiply(mod(s)));
const random = () => mod(little(randomBytes(64)));

function challenge(domain, parts) {
  const hash = createHash('sha512');
  for (const part of [PROTOCOL, Buffer.from(DOMAINS[domain]), ...parts]) {
    const length = Buffer.alloc(8); length.writeBigUInt64BE(BigInt(part.length));
    hash.update(length); hash.update(part);
  }
  return mod(little(hash.digest()));
}
const count = (n) => { const b = Buffer.alloc(4); b.writeUInt32BE(n); return b; };
const statement = (context, Y, cells, commitments) =>
  [...context, enc(G), enc(Y), count(cells.length), ...cells.map(([R, C]) => Buffer.concat([enc(R), enc(C)])), ...commitments.map(enc)];

function prove(Y, choice, size, context, drawn) {
  const cells = [], commitments = [], kept = [];
  let at = 0;
  for (let i = 0; i < size; i++) {
    const [r, w, f, s] = drawn.slice(at, at += 4);
    const vote = i === choice;
    const R = times(G, r), C = times(Y, r).add(vote ? G : P.ZERO);
    // The branch that does not hold, from its definition: s G - f R and s Y - f (C - v' G) with the wrong v'.
    const target = vote ? C : C.subtract(G);
    const other = [times(G, s).subtract(times(R, f)), times(Y, s).subtract(times(target, f))];
    const own = [times(G, w), times(Y, w)];
    commitments.push(...(vote ? [...other, ...own] : [...own, ...other]));
    cells.push([R, C]); kept.push([r, w, f, s]);
  }
  const w = drawn[at];
  commitments.push(times(G, w), times(Y, w));
  const c = challenge('ballot', statement(context, Y, cells, commitments));
  const proof = [c]; let total = 0n;
  kept.forEach(([r, w, f, s], i) => {
    total += r; const right = mod(c - f), shown = mod(w + right * r);
    proof.push(...(i === choice ? [f, s, shown] : [right, shown, s]));
  });
  proof.push(mod(w + c * total));
  return { cells: cells.map(([R, C]) => Buffer.concat([enc(R), enc(C)]).toString('hex')), proof: Buffer.concat(proof.map(bytes)).toString('hex') };
}

function valid(Y, given, context) {
  const cells = given.cells.map((t) => { const b = Buffer.from(t, 'hex'); return [point(b.subarray(0, 32)), point(b.subarray(32))]; });
  const raw = Buffer.from(given.proof, 'hex'), s = [];
  for (let i = 0; i < raw.length; i += 32) s.push(little(raw.subarray(i, i + 32)));
  if (s.some((x) => x >= L) || s.length !== 2 + 3 * cells.length || cells.some(([R]) => R.equals(P.ZERO))) return false;
  const commitments = [];
  const back = (R, C, c, a) => commitments.push(times(G, a).subtract(times(R, c)), times(Y, a).subtract(times(C, c)));
  let R = P.ZERO, C = P.ZERO;
  cells.forEach(([r, c], i) => {
    const [zero, a0, a1] = s.slice(1 + 3 * i, 4 + 3 * i);
    back(r, c, zero, a0); back(r, c.subtract(G), mod(s[0] - zero), a1);
    R = R.add(r); C = C.add(c);
  });
  back(R, C.subtract(G), s[0], s[s.length - 1]);
  return challenge('ballot', statement(context, Y, cells, commitments)) === s[0];
}

function decrypt(x, [R, C], context, w) {
  const D = times(R, x);
  const c = challenge('decryption', [...context, enc(G), enc(times(G, x)), enc(R), enc(C), enc(D), enc(times(G, w)), enc(times(R, w))]);
  return { part: enc(D).toString('hex'), proof: Buffer.concat([bytes(c), bytes(mod(w + c * x))]).toString('hex') };
}
function possess(x, context, w) {
  const c = challenge('possession', [...context, enc(G), enc(times(G, x)), enc(times(G, w))]);
  return Buffer.concat([bytes(c), bytes(mod(w + c * x))]).toString('hex');
}

const chunks = []; for await (const c of process.stdin) chunks.push(c);
const { vectors, ballots } = JSON.parse(Buffer.concat(chunks));
const hex = (t) => Buffer.from(t, 'hex'), context = vectors.context.map(hex);
const Y = point(hex(vectors.key)), x = little(hex(vectors.secret)), w = little(hex(vectors.mask));
const same = prove(Y, 1, 3, context, vectors.randomness.map((t) => little(hex(t))));
const cell = hex(vectors.cells[1]), pair = [point(cell.subarray(0, 32)), point(cell.subarray(32))];
const shown = decrypt(x, pair, context, w), fresh = decrypt(x, pair, context, random());
console.log(JSON.stringify({
  same: same.proof === vectors.proof && JSON.stringify(same.cells) === JSON.stringify(vectors.cells),
  valid: ballots.map((b) => valid(Y, b, context)),
  decryption: shown.part === vectors.part && shown.proof === vectors.decryption,
  possession: possess(x, context, w) === vectors.possession,
  made: [0, 1, 2, 3].map((choice) => prove(Y, choice, 4, context, Array.from({ length: 17 }, random))),
  part: fresh.part, shown: fresh.proof, owned: possess(x, context, random()),
}));
