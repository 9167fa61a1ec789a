"use strict";
/* Check the signature of a manifest in a browser, or with Node, after safemargin_verify.js: Ed25519 in the format of
minisign. Ed25519 comes with the browser (Web Crypto); BLAKE2b (RFC 7693), which minisign hashes with, does not. */
((base) => {
  const { refuse, decoded } = base.parts, MANIFEST = "manifest.json", SIGNATURE = "manifest.json.minisig";

  // 1. BLAKE2b
  const WIDE = (1n << 64n) - 1n, hex = (digits) => [...digits].map((digit) => parseInt(digit, 16));
  const SIGMA = ["0123456789abcdef", "ea489fd61c02b753", "b8c052fdae367194", "7931dcbe265a40f8", "905724afe1bc683d",
    "2c6a0b834d75fe19", "c51fed4a0763928b", "db7ec13950f4862a", "6fe9b308c2d714a5", "a2847615fb9e3cd0"].map(hex);
  const MIXED = ["048c", "159d", "26ae", "37bf", "05af", "16bc", "278d", "349e"].map(hex); // columns, then diagonals
  const SEED = [0x6a09e667f3bcc908n, 0xbb67ae8584caa73bn, 0x3c6ef372fe94f82bn, 0xa54ff53a5f1d36f1n,
    0x510e527fade682d1n, 0x9b05688c2b3e6c1fn, 0x1f83d9abfb41bd6bn, 0x5be0cd19137e2179n];
  function blake2b(content) { // 64 bytes, without a key
    const state = SEED.map((word, i) => (i ? word : word ^ 0x01010040n));
    const turn = (x, n) => ((x >> n) | (x << (64n - n))) & WIDE;
    const blocks = Math.max(1, Math.ceil(content.length / 128)), padded = new Uint8Array(blocks * 128);
    padded.set(content);
    for (let block = 0, view = new DataView(padded.buffer); block < blocks; block++) {
      const last = block === blocks - 1, v = [...state, ...SEED];
      v[12] ^= BigInt(last ? content.length : (block + 1) * 128);
      if (last) v[14] ^= WIDE;
      for (let round = 0; round < 12; round++) {
        MIXED.forEach(([a, b, c, d], i) => [[32n, 24n], [16n, 63n]].forEach(([p, q], half) => {
          const word = view.getBigUint64(block * 128 + 8 * SIGMA[round % 10][2 * i + half], true);
          v[d] = turn(v[d] ^ (v[a] = (v[a] + v[b] + word) & WIDE), p);
          v[b] = turn(v[b] ^ (v[c] = (v[c] + v[d]) & WIDE), q);
        }));
      }
      state.forEach((value, i) => { state[i] = value ^ v[i] ^ v[i + 8]; });
    }
    return new Uint8Array(BigUint64Array.from(state).buffer); // every browser is little-endian
  }

  // 2. The signature: false where this program cannot check it.
  async function checkSignature(files, key) {
    const lines = (name, content) => decoded(name, content).replaceAll("\r\n", "\n").replace(/\n+$/, "").split("\n");
    const unpacked = (name, line, length) => {
      const good = line.length === 4 * Math.ceil(length / 3) && /^[A-Za-z0-9+/]*={0,2}$/.test(line);
      const content = Uint8Array.from(good ? atob(line) : "", (letter) => letter.charCodeAt(0));
      refuse(content.length !== length, `${name}: is not a file of minisign`);
      return content;
    };
    const latin = (bytes) => String.fromCharCode(...bytes), trusted = "trusted comment: ", keyLines = lines("key", key);
    const pub = unpacked("key", keyLines.length <= 2 ? keyLines.at(-1) : "", 42), held = files.get(SIGNATURE); // algorithm, id, key
    refuse(latin(pub.slice(0, 2)) !== "Ed", "key: is not a public key of minisign");
    refuse(!held || !held.length, `${SIGNATURE}: is missing or empty; nobody has signed ${MANIFEST}`);
    const signed = lines(SIGNATURE, held);
    refuse(signed.length !== 4 || !signed[2].startsWith(trusted), `${SIGNATURE}: is not a signature of minisign`);
    const mark = unpacked(SIGNATURE, signed[1], 74), whole = unpacked(SIGNATURE, signed[3], 64), once = mark.slice(10);
    refuse(latin(mark.slice(2, 10)) !== latin(pub.slice(2, 10)), `${SIGNATURE}: was made with another key`);
    refuse(latin(mark.slice(0, 2)) !== "ED", `${SIGNATURE}: signs in the old way of minisign, without a hash; sign again`);
    const comment = new TextEncoder().encode(signed[2].slice(trusted.length)), { subtle } = globalThis.crypto;
    let valid;
    try {
      const imported = await subtle.importKey("raw", pub.slice(10), { name: "Ed25519" }, false, ["verify"]);
      const signs = (signature, message) => subtle.verify({ name: "Ed25519" }, imported, signature, message);
      valid = await signs(once, blake2b(files.get(MANIFEST))) && await signs(whole, Uint8Array.from([...once, ...comment]));
    } catch { return false; }
    refuse(!valid, `${SIGNATURE}: does not sign ${MANIFEST} as it is; one of them was changed`);
    return true;
  }
  Object.assign(base.beside, { blake2b, checkSignature });
  if (typeof module !== "undefined") module.exports = base.beside;
})(typeof module !== "undefined" ? require("./safemargin_verify.js") : safemarginVerify);
