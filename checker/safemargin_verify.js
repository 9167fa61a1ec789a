"use strict";
/* Check the certificate of a safemargin release in a browser, or with Node: one file, no dependency, no network.

This is the second program that checks certificates; the first is safemargin_verify.py. Both follow docs/certificate.md,
share no code, and are run on the same true and forged certificates. Nothing leaves the machine: files are read by the
page, hashed, and parsed from the bytes that were hashed.

A checker inside a page is a convenience: whoever forges a page can forge its checker. A verdict that counts comes from a
copy of one of the two programs that was obtained elsewhere.

Objects: a profile is one category per axis; a witness gives counts to every profile that add up to all that is published;
a cell is a set of people; a secret is a set of options of which a group may not be known to have chosen nearly wholly. */
const safemarginVerify = (() => {
  const [MANIFEST, CERTIFICATE, PAGE] = ["manifest.json", "certificate.json", "index.html"];
  const [SIGNATURE, WITNESSES, ROLL] = ["manifest.json.minisig", "witnesses.json", "roll.csv"];
  const [HOLDS, FAILS, NOT_CHECKED] = ["holds", "fails", "not checked"];
  const STATUSES = ["exact", "merged", "noised", "suppressed"];
  const DEFAULTS = { beta: [1n, 20n], kappa: 30, tau: 3 };
  const PAGE_ROWS = 2000; // of a table that the page shows
  const KEYS = "schema kind title target onlookers questions tables checked rule earlier noise slack unproved auditors statement";

  const isMap = (value) => value instanceof Map, isInt = (value) => Number.isInteger(value);
  const isText = (value) => typeof value === "string", isBool = (value) => typeof value === "boolean";
  class Finding extends Error {} // something that is wrong, in one line that names the file
  const refuse = (wrong, text) => { if (wrong) throw new Finding(text); };

  // 1. Bytes: SHA-256 (FIPS 180-4) and BLAKE2b (RFC 7693), since pages that are opened from a disk may have no Web Crypto.
  const PRIMES = [];
  for (let n = 2; PRIMES.length < 64; n++) if (PRIMES.every((prime) => n % prime)) PRIMES.push(n);
  const bits = (root) => Math.floor((root % 1) * 2 ** 32) | 0;
  const ROUNDS = Int32Array.from(PRIMES, (prime) => bits(Math.cbrt(prime)));
  const START = Int32Array.from(PRIMES.slice(0, 8), (prime) => bits(Math.sqrt(prime)));

  function sha256(content) {
    const state = START.slice(), words = new Int32Array(64), rest = content.length % 64;
    const tail = new Uint8Array(rest < 56 ? 64 : 128), end = new DataView(tail.buffer), whole = content.length - rest;
    tail.set(content.subarray(whole));
    tail[rest] = 128;
    end.setUint32(tail.length - 8, Math.floor(content.length / 2 ** 29));
    end.setUint32(tail.length - 4, (content.length * 8) >>> 0);
    const mix = (block, at) => {
      for (let i = 0; i < 16; i++, at += 4) {
        words[i] = (block[at] << 24) | (block[at + 1] << 16) | (block[at + 2] << 8) | block[at + 3];
      }
      for (let i = 16; i < 64; i++) {
        const x = words[i - 15], s = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
        const y = words[i - 2], t = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
        words[i] = (words[i - 16] + s + words[i - 7] + t) | 0;
      }
      let [a, b, c, d, e, f, g, h] = state;
      for (let i = 0; i < 64; i++) {
        const s = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
        const one = (h + s + ((e & f) ^ (~e & g)) + ROUNDS[i] + words[i]) | 0;
        const t = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
        h = g; g = f; f = e; e = (d + one) | 0; d = c; c = b; b = a;
        a = (one + t + ((b & c) ^ (b & d) ^ (c & d))) | 0;
      }
      [a, b, c, d, e, f, g, h].forEach((value, i) => { state[i] = (state[i] + value) | 0; });
    };
    for (let at = 0; at < whole; at += 64) mix(content, at);
    for (let at = 0; at < tail.length; at += 64) mix(tail, at);
    return [...state].map((word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
  }

  const WIDE = (1n << 64n) - 1n;
  const SIGMA = [
    "0123456789abcdef", "ea489fd61c02b753", "b8c052fdae367194", "7931dcbe265a40f8", "905724afe1bc683d",
    "2c6a0b834d75fe19", "c51fed4a0763928b", "db7ec13950f4862a", "6fe9b308c2d714a5", "a2847615fb9e3cd0"];
  const MIXED = ["048c", "159d", "26ae", "37bf", "05af", "16bc", "278d", "349e"]; // four columns, then four diagonals

  const SEED = [
    0x6a09e667f3bcc908n, 0xbb67ae8584caa73bn, 0x3c6ef372fe94f82bn, 0xa54ff53a5f1d36f1n,
    0x510e527fade682d1n, 0x9b05688c2b3e6c1fn, 0x1f83d9abfb41bd6bn, 0x5be0cd19137e2179n, ];

  function blake2b(content) { // 64 bytes, without a key
    const state = SEED.map((word, i) => (i ? word : word ^ 0x01010040n)), turn = (x, n) => ((x >> n) | (x << (64n - n))) & WIDE;
    const blocks = Math.max(1, Math.ceil(content.length / 128)), padded = new Uint8Array(blocks * 128);
    padded.set(content);
    for (let block = 0, view = new DataView(padded.buffer); block < blocks; block++) {
      const last = block === blocks - 1, v = [...state, ...SEED], word = (i) => view.getBigUint64(block * 128 + 8 * i, true);
      v[12] ^= BigInt(last ? content.length : (block + 1) * 128);
      if (last) v[14] ^= WIDE;
      for (let round = 0; round < 12; round++) {
        MIXED.forEach((places, i) => {
          const [a, b, c, d] = [...places].map((digit) => parseInt(digit, 16));
          const [x, y] = [0, 1].map((n) => word(parseInt(SIGMA[round % 10][2 * i + n], 16)));
          for (const [m, p, q] of [[x, 32n, 24n], [y, 16n, 63n]]) {
            v[a] = (v[a] + v[b] + m) & WIDE;
            v[d] = turn(v[d] ^ v[a], p);
            v[c] = (v[c] + v[d]) & WIDE;
            v[b] = turn(v[b] ^ v[c], q);
          }
        });
      }
      state.forEach((value, i) => { state[i] = value ^ v[i] ^ v[i + 8]; });
    }
    return new Uint8Array(BigUint64Array.from(state).buffer); // every browser is little-endian
  }

  // 2. Texts: strict readers, so that no two programs can read different things from one file.
  function decoded(name, content) {
    let text;
    try {
      text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content);
    } catch { throw new Finding(`${name}: is not UTF-8`); }
    refuse(text.includes("\ufeff") || text.includes("\0"), `${name}: has a byte order mark, or a character 0`);
    return text;
  }

  class Real { // a number with a point or an exponent, which only the published manifest may have
    constructor(value) { this.value = value; }
  }
  const TOKEN =
    /[ \t\n\r]*(?:([{}[\],:])|("(?:[^"\\\x00-\x1f]+|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")|(-?(?:0|[1-9][0-9]*))(\.[0-9]+)?([eE][-+]?[0-9]+)?|(true|false|null)|$)/y;

  // JSON with objects as Map: keys keep their order, whatever they are called; of a key that stands twice, none is read.
  function parseJson(name, content) {
    const text = isText(content) ? content : decoded(name, content), pattern = new RegExp(TOKEN);
    const wrong = () => { throw new Finding(`${name}: is not JSON`); };
    let mark, held; // the next token: a sign, or "" for a value that is held
    const next = () => {
      const match = pattern.exec(text) || wrong(), [read, sign, string, number, point, power, word] = match;
      mark = sign || "";
      if (string) held = JSON.parse(string);
      else if (word) held = { true: true, false: false, null: null }[word];
      else if (number) {
        refuse(point || power ? name !== MANIFEST : number.length > 15, `${name}: has the number ${read.trim().slice(0, 60)}`);
        held = point || power ? new Real(Number(read)) : Number(number) + 0;
      } else if (!sign) mark = "end";
    };
    const list = (end, add) => { // what stands between brackets
      next();
      while (mark !== end) {
        add();
        next();
        if (mark === end) return;
        if (mark !== ",") wrong();
        next();
        if (mark === end) wrong(); // a comma too many
      }
    };
    const value = (depth) => {
      if (mark === "" || depth > 500) return mark === "" ? held : wrong();
      const found = mark === "{" ? new Map() : mark === "[" ? [] : wrong();
      if (mark === "[") list("]", () => found.push(value(depth + 1)));
      else {
        list("}", () => {
          const key = mark === "" && isText(held) ? held : wrong();
          next();
          if (mark !== ":") wrong();
          refuse(found.has(key), `${name}: has a key twice in one object`);
          next();
          found.set(key, value(depth + 1));
        });
      }
      return found;
    };
    next();
    const found = value(0);
    next();
    return mark === "end" ? found : wrong();
  }

  // Rows of a CSV file (RFC 4180; any end of line) as Maps; an empty field is null.
  function parseCsv(name, content) {
    const text = decoded(name, content), lines = [[]], pattern = /(?:"((?:[^"]+|"")*)"|([^",\r\n][^,\r\n]*|))(,|\r\n|\r|\n|$)/y;
    for (let end = ""; pattern.lastIndex < text.length || end === ",";) {
      const start = pattern.lastIndex, match = pattern.exec(text), line = lines[lines.length - 1];
      refuse(!match || match[0].length > 131072, `${name}: is not CSV`);
      end = match[3];
      if (match[0] !== end || end === "," || line.length || start === text.length) line.push(match[1] ? match[1].replaceAll('""', '"') : match[2] || "");
      if (end !== "," && pattern.lastIndex < text.length) lines.push([]);
    }
    refuse(!text || new Set(lines[0]).size < lines[0].length, `${name}: has no columns, or two of one name`);
    const width = lines[0].length;
    refuse(lines.some((line) => line.length !== width), `${name}: a row has more or fewer fields than there are columns`);
    return lines.slice(1).map((line) => new Map(line.map((field, i) => [lines[0][i], field || null])));
  }

  // 3. Values of the form that docs/certificate.md gives them.
  const expect = (value, is, where) => { refuse(!is(value), `${where}: a value is of another kind`); return value; };
  const member = (holder, key, is, where) => {
    refuse(!expect(holder, isMap, where).has(key), `${where}: has no '${key}'`);
    return expect(holder.get(key), is, `${where}: ${key}`);
  };
  const only = (holder, keys, where) => {
    const known = new Set(keys.split(" "));
    const wrong = expect(holder, isMap, where).size !== known.size || ![...holder.keys()].every((key) => known.has(key));
    refuse(wrong, `${where}: has other keys than ${keys}`);
    return holder;
  };
  const texts = (value, where) => {
    expect(value, Array.isArray, where).forEach((each) => expect(each, isText, where));
    refuse(new Set(value).size < value.length, `${where}: names something twice`);
    return value;
  };

  function same(one, other) {
    if (Array.isArray(one)) {
      return Array.isArray(other) && one.length === other.length && one.every((each, i) => same(each, other[i]));
    }
    if (isMap(one)) {
      const keys = [...one.keys()];
      return isMap(other) && one.size === other.size && keys.every((k) => other.has(k) && same(one.get(k), other.get(k)));
    }
    return one instanceof Real ? other instanceof Real && one.value === other.value : one === other;
  }

  const lowest = (n, d) => {
    let [a, b] = [n, d];
    while (b) [a, b] = [b, a % b];
    return a ? [n / a, d / a] : [n, d];
  };
  const written = ([n, d]) => `${n}/${d}`;
  const less = ([a, b], [c, d]) => a * d < c * b, equal = ([a, b], [c, d]) => a * d === c * b;

  function fraction(holder, key, where) { // an exact number between 0 and 1, in lowest terms
    const text = member(holder, key, isText, where), match = /^([0-9]{1,40})\/([1-9][0-9]{0,39})$/.exec(text);
    const value = match ? [BigInt(match[1]), BigInt(match[2])] : [1n, 0n];
    const good = match && value[0] <= value[1] && written(lowest(...value)) === text;
    refuse(!good, `${where}: ${key}: is no fraction between 0 and 1 in lowest terms`);
    return value;
  }

  function nearest(real, most) { // the fraction nearest to a real number whose denominator is at most this
    refuse(!(real instanceof Real) || !(real.value > 0 && real.value < 1), `${MANIFEST}: beta is no number`);
    let value = real.value, below = 1n;
    while (!Number.isInteger(value)) { value *= 2; below *= 2n; }
    const [top, bottom] = lowest(BigInt(value), below);
    if (bottom <= most) return [top, bottom];
    let [p, q, r, s, n, d] = [0n, 1n, 1n, 0n, top, bottom]; // convergents of the continued fraction
    for (;;) {
      const a = n / d;
      if (q + a * s > most) break;
      [p, q, r, s, n, d] = [r, s, p + a * r, q + a * s, d, n - a * d];
    }
    const k = (most - q) / s, other = [p + k * r, q + k * s];
    const away = ([x, y]) => { const z = x * bottom - top * y; return [z < 0n ? -z : z, y * bottom]; };
    return lowest(...(less(away(other), away([r, s])) ? other : [r, s]));
  }

  // 4. Files: exactly those of the manifest, as they were hashed.
  function checkHashes(files, place, signature) {
    refuse(!files.has(MANIFEST), `${place}${MANIFEST}: is missing`);
    const manifest = parseJson(MANIFEST, files.get(MANIFEST));
    const hashes = member(manifest, "files", isMap, `${place}${MANIFEST}`);
    const held = [...files.keys()].filter((name) => name !== MANIFEST && name !== signature);
    const odd = [...held.filter((name) => !hashes.has(name)), ...[...hashes.keys()].filter((name) => !held.includes(name))];
    refuse(odd.length, `${place}${odd.sort()[0]}: only one of the folder and its manifest has this file`);
    for (const [name, mark] of hashes) {
      refuse(sha256(files.get(name)) !== mark, `${place}${name}: its hash is not that of the manifest`);
    }
    return manifest;
  }

  function checkFiles(files) {
    const manifest = checkHashes(files, "", SIGNATURE);
    refuse(!files.has(CERTIFICATE) || !files.has(PAGE), `${CERTIFICATE} or ${PAGE}: is missing`);
    const certificate = parseJson(CERTIFICATE, files.get(CERTIFICATE));
    for (const [key, value] of [["schema", 2], ["kind", "release"]]) {
      for (const [name, document] of [[MANIFEST, manifest], [CERTIFICATE, certificate]]) {
        refuse(expect(document, isMap, name).get(key) !== value, `${name}: its ${key} is not ${value}`);
      }
    }
    const figures = certificate.has("figures") ? texts(certificate.get("figures"), CERTIFICATE) : [];
    only(certificate, figures.length || certificate.has("figures") ? `${KEYS} figures` : KEYS, CERTIFICATE);
    const hashes = new Map([CERTIFICATE, PAGE, ...figures].map((name) => [name, manifest.get("files").get(name)]));
    let listed = hashes.size;
    for (const table of certificate.get("tables")) {
      const own = member(table, "files", isMap, `${CERTIFICATE}: tables`);
      own.forEach((mark, name) => { if (!hashes.has(name)) hashes.set(name, mark); });
      listed += own.size;
    }
    refuse(!same(hashes, manifest.get("files")) || hashes.size !== listed,
      `${MANIFEST}: names other files or hashes than the certificate`);
    const target = member(manifest, "target", isMap, MANIFEST), limits = certificate.get("target");
    const beta = written(nearest(target.get("beta"), 10n ** 9n));
    const stated = [
      ...["title", "statement", "auditors"].map((key) => [key, manifest.get(key), certificate.get(key)]),
      ["rule", new Map([["label", manifest.get("rule")]]), certificate.get("rule")], ["beta", beta, limits.get("beta")],
      ...["kappa", "tau"].map((key) => [key, target.get(key), limits.get(key)]),
      ["sensitive", target.has("sensitive") ? target.get("sensitive") : new Map(), limits.get("sensitive")], ];
    for (const [key, one, other] of stated) {
      refuse(one === undefined || !same(one, other), `${MANIFEST}: states another ${key} than the certificate`);
    }
    return [certificate, manifest.get("files").size];
  }

  // 5. The certificate: every field is checked against the tables, or against what it must follow from.
  const isRead = (name) => /\.(csv|json)$/.test(name) && !name.endsWith(".sdmx.csv");

  function readCount(where, count, status) {
    refuse(!STATUSES.includes(status), `${where}: its status is not one of ${STATUSES.join(", ")}`);
    if (status === "suppressed") {
      refuse(count !== null, `${where}: has a count although it is suppressed`);
      return null;
    }
    const good = (isInt(count) || isText(count)) && /^-?[0-9]{1,15}$/.test(String(count));
    refuse(!good, `${where}: its count is not an integer`);
    refuse(Number(count) < 0 && status !== "noised", `${where}: its count is negative`);
    return Number(count) + 0;
  }

  class Question {
    constructor(stated, beta) {
      const where = `${CERTIFICATE}: questions`;
      this.name = member(only(stated, "question options people secrets least", where), "question", isText, where);
      this.options = texts(stated.get("options"), where);
      this.numbers = new Map(this.options.map((option, number) => [option, number]));
      this.people = expect(stated.get("people"), isInt, where);
      const seen = new Set();
      this.secrets = expect(stated.get("secrets"), Array.isArray, where).map((secret) => {
        const names = texts(only(secret, "options share ceiling", where).get("options"), where);
        const members = names.map((name) => this.numbers.get(name)), id = [...members].sort((a, b) => a - b).join();
        const wrong = !names.length || members.includes(undefined) || names.length >= this.options.length || seen.has(id);
        refuse(wrong, `${where}: a secret is no set of some options, or stands twice`);
        seen.add(id);
        const share = fraction(secret, "share", where), ceiling = fraction(secret, "ceiling", where);
        const half = [share[1] - share[0], 2n * share[1]], gap = less(half, beta) ? half : beta;
        refuse(!equal(ceiling, [gap[1] - gap[0], gap[1]]),
          `${where}: the ceiling of ${names.join(" or ")} does not follow from beta and its share`);
        return { members, share, ceiling };
      });
      this.least = [...expect(stated.get("least"), isMap, where)].map(([name, n]) => [this.numbers.get(name), n]);
      const clear = this.least.every(([option, n]) => option !== undefined && isInt(n) && n > 1);
      refuse(this.people < 0 || !clear, `${where}: has no people, or a least count of no option`);
    }

    checkTotals(total) {
      const printed = total.printed.get(this.name) || new Map();
      this.totals = this.options.map((_, option) => printed.get(`|${option}`));
      refuse(this.totals.some((count) => count === undefined || count === null),
        `${total.name}: does not print the total of every option`);
      refuse(this.totals.reduce((a, b) => a + b, 0) > this.people,
        `${CERTIFICATE}: questions: there are fewer people than answers`);
      for (const { members, share } of this.secrets) {
        const chose = [BigInt(this.total(members)), BigInt(Math.max(this.people, 1))];
        refuse(!equal(share, chose), `${CERTIFICATE}: questions: a share does not follow from the total`);
      }
    }

    total(members) { return members.reduce((sum, option) => sum + this.totals[option], 0); }
  }

  class Table {
    constructor(stated, files, questions, unchecked) {
      const where = `${CERTIFICATE}: tables`;
      this.name = member(only(stated, "name axes groups files", where), "name", isText, where);
      this.axes = texts(stated.get("axes"), where);
      refuse(this.axes.some((axis) => ["question", "option", "count", "status"].includes(axis)),
        `${where}: an axis has the name of another column`);
      const groups = expect(stated.get("groups"), Array.isArray, where);
      refuse(groups.length !== this.axes.length, `${where}: ${this.name}: has groups of other axes`);
      this.labels = groups.map((each) => [...expect(each, isMap, where).keys()]);
      this.numbers = this.labels.map((labels) => new Map(labels.map((label, number) => [label, number])));
      this.members = groups.map((each) => [...each].map(([label, categories]) => {
        refuse(!texts(categories, where).length || label !== categories.join(" | "),
          `${where}: ${this.name}: '${label}': is not the name of its categories`);
        return categories;
      }));
      let known = null;
      for (const name of stated.get("files").keys()) {
        if (!isRead(name)) {
          unchecked.push(`that ${name} prints the same as the other formats of its table.`);
          continue;
        }
        const content = files.get(name);
        const rows = name.endsWith(".csv") ? parseCsv(name, content) : parseJson(name, content);
        const cells = this.cells(name, expect(rows, Array.isArray, name), questions);
        refuse(known && !same(cells, known), `${name}: prints other rows than the other formats of ${this.name}`);
        known = cells;
      }
      refuse(!known, `${this.name}: no file of it is CSV or JSON`);
      this.statuses = new Set();
      this.printed = new Map(); // by question: groups and option to the count, or null where there is a gap or noise
      [this.rows, this.used] = [[], new Map()]; // by question and axis, the groups that are printed
      for (const [question, codes, option, count, status] of known.values()) {
        this.statuses.add(status);
        if (!this.printed.has(question)) this.printed.set(question, new Map());
        const shown = status === "exact" || status === "merged";
        this.printed.get(question).set(`${codes}|${option}`, shown ? count : null);
        const { options } = questions.find((each) => each.name === question);
        const labels = codes.map((code, axis) => this.labels[axis][code]);
        this.rows.push([...(question ? [question] : []), ...labels, options[option], count, status]);
        if (!this.used.has(question)) this.used.set(question, this.axes.map(() => new Set()));
        codes.forEach((code, axis) => this.used.get(question)[axis].add(code));
      }
      this.groupOf = new Map([...this.used].map(([question, used]) => [question, used.map((codes, axis) => {
        const inside = [...codes].flatMap((code) => this.members[axis][code].map((category) => [category, code]));
        refuse(new Map(inside).size < inside.length, `${this.name}: a category is in two groups`);
        return new Map(inside);
      })]));
    }

    cells(name, rows, questions) {
      const many = questions[0].name ? ["question"] : [], cells = new Map();
      const columns = [...many, ...this.axes, "option", "count", "status"];
      const byName = new Map(questions.map((question) => [question.name, question]));
      const code = (numbers, text) => {
        const found = numbers.get(text);
        return found === undefined && isText(text) && text[0] === "'" ? numbers.get(text.slice(1)) : found;
      };
      rows.forEach((row, number) => {
        const where = `${name}: row ${number + 1}`;
        refuse(!same([...expect(row, isMap, where).keys()], columns), `${where}: has other columns than ${columns.join(", ")}`);
        const question = byName.get(many.length ? row.get("question") : questions[0].name);
        const codes = this.axes.map((axis, i) => code(this.numbers[i], row.get(axis)));
        const option = question && code(question.numbers, row.get("option"));
        refuse(option === undefined || codes.includes(undefined),
          `${where}: has a label or an option that the certificate does not list`);
        const key = JSON.stringify([question.name, codes, option]), status = row.get("status");
        refuse(cells.has(key), `${where}: occurs twice`);
        cells.set(key, [question.name, codes, option, readCount(where, row.get("count"), status), status]);
      });
      refuse(!cells.size, `${name}: has no rows`);
      return cells;
    }
  }

  const pairs = (items) => items.flatMap((one, i) => items.slice(i + 1).map((other) => [one, other]));

  function checkedSets(certificate, tables) {
    if (!certificate.get("onlookers").some((onlooker) => onlooker.get("roll") === "joint")) return [];
    const axes = [...new Set(tables.flatMap((table) => table.axes))];
    return [...(axes.length > 2 ? [axes] : []), ...pairs(axes), ...axes.map((axis) => [axis])];
  }

  function checkCertificate(certificate, files, result) {
    const target = only(certificate.get("target"), "beta kappa tau sensitive", `${CERTIFICATE}: target`);
    const beta = fraction(target, "beta", "target");
    expect(certificate.get("title"), isText, CERTIFICATE);
    const [kappa, tau] = ["kappa", "tau"].map((key) => member(target, key, isInt, "target"));
    refuse(!beta[0] || !less(beta, [1n, 2n]) || kappa < 1 || tau < 0, `${CERTIFICATE}: target: is impossible`);
    member(target, "sensitive", isMap, "target").forEach((names, axis) => texts(names, `target: sensitive: ${axis}`));
    const questions = expect(certificate.get("questions"), Array.isArray, CERTIFICATE).map((each) => new Question(each, beta));
    refuse(!questions.length || new Set(questions.map((each) => each.name)).size < questions.length,
      `${CERTIFICATE}: questions: there is none, or one stands twice`);
    const tables = certificate.get("tables").map((each) => new Table(each, files, questions, result.unchecked));
    const total = tables.filter((table) => !table.axes.length);
    const sets = new Set(tables.map((table) => JSON.stringify([...table.axes].sort())));
    refuse(total.length !== 1 || sets.size < tables.length,
      `${CERTIFICATE}: tables: there must be one total, and one table of any set of axes`);
    for (const key of ["slack", "unproved"]) {
      refuse(member(certificate, key, isInt, CERTIFICATE) < 0, `${CERTIFICATE}: ${key}: is negative`);
    }
    for (const question of questions) {
      question.checkTotals(total[0]);
      for (const table of certificate.get("slack") ? [] : tables) {
        if (table.statuses.has("noised") || table.statuses.has("suppressed") || !table.printed.has(question.name)) continue;
        const sums = question.options.map(() => 0);
        for (const [key, count] of table.printed.get(question.name)) sums[key.split("|")[1]] += count;
        refuse(!same(sums, question.totals), `${table.name}: adds up to another total`);
      }
    }
    refuse(!same(certificate.get("checked"), checkedSets(certificate, tables)), `${CERTIFICATE}: checked: are other sets of axes`);
    const onlookers = certificate.get("onlookers"), earlier = only(certificate.get("earlier"), "cycles held net", CERTIFICATE);
    for (const onlooker of onlookers) {
      const [name, roll, ...knows] = ["name", "roll", "facts", "earlier"].map((key) => onlooker.get(key));
      const clear = isText(name) && ["none", "sizes", "joint"].includes(roll) && knows.every(isBool) && onlooker.size === 4;
      refuse(!clear, `${CERTIFICATE}: onlookers: it is unclear what they know`);
    }
    refuse(!onlookers.length, `${CERTIFICATE}: onlookers: it is unclear what they know`);
    const cycles = texts(earlier.get("cycles"), "earlier"), net = expect(earlier.get("net"), isBool, "earlier");
    const held = (cycles.length ? ["jointly", "group by group", "not"] : ["not"]).includes(earlier.get("held"));
    const known = onlookers.some((onlooker) => onlooker.get("earlier")) === cycles.length > 0 && (cycles.length > 0 || !net);
    refuse(!held || !known, `${CERTIFICATE}: earlier: says otherwise than the onlookers, or something unknown`);
    const rule = only(certificate.get("rule"), "label", `${CERTIFICATE}: rule`).get("label");
    refuse(rule !== "rerun" && rule !== "not shown", `${CERTIFICATE}: rule: is unknown`);
    const noise = certificate.get("noise").map((each) => only(each, "epsilon posterior omitted", "noise"));
    const posterior = noise.flatMap((each) => expect(each.get("posterior"), Array.isArray, "noise"));
    const words = [...posterior.flatMap((group) => [...only(group, "axis group chance secret draw", "noise").values()]),
      ...noise.map((each) => each.get("epsilon"))];
    const ids = (items) => [...new Set(items.map((item) => JSON.stringify(item)))].sort();
    const noised = ids(tables.flatMap((table) =>
      table.rows.filter((row) => row[row.length - 1] === "noised").map((row) => [table.axes[0], row[row.length - 4]])));
    const claimed = ids(posterior.map((group) => [group.get("axis"), group.get("group")]));
    const some = noise.some((each) => claimed.length || !texts(each.get("omitted"), "noise").length);
    const fits = same(claimed, noised) || !claimed.length;
    refuse(noised.length > 0 !== some || !fits || !words.every(isText), `${CERTIFICATE}: noise: is not what the tables have`);
    refuse(statement(certificate) !== certificate.get("statement"), `${CERTIFICATE}: its statement does not follow from it`);
    if (less(beta, DEFAULTS.beta)) result.warnings.push("beta is weaker than its default, 1/20.");
    if (kappa < DEFAULTS.kappa) result.warnings.push("kappa is weaker than its default, 30.");
    if (tau < DEFAULTS.tau) result.warnings.push("tau is weaker than its default, 3.");
    return [questions, tables];
  }

  // 6. The statement: a function of the fields, so that nothing can be stated that is not a field.
  const RULE_SHOWN = " This holds also for somebody who knows the rule by which groups are merged and axes omitted, and runs " +
    "the program on all other answers that could have led to the same files.";
  const RULE_NOT_SHOWN = " The onlooker of this statement does not know the rule by which groups are merged and axes " +
    "omitted: what somebody can infer who runs the program on other answers was not shown.";
  const RULE_NOTE = "that it holds for somebody who knows the rule; `safemargin verify --rerun` runs the rule on every table.";
  const comma = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, ",");
  const unique = (items) => [...new Set(items)];
  const byCode = (one, other) => { // texts in the order of their characters, not of their UTF-16 units
    const [a, b] = [[...one], [...other]];
    for (let i = 0; i < Math.min(a.length, b.length); i++) if (a[i] !== b[i]) return a[i].codePointAt(0) - b[i].codePointAt(0);
    return a.length - b.length;
  };
  const quoted = (text) => { return text.includes("'") ? `"${text}"` : `'${text}'`; };
  const or = (options) => options.map(quoted).join(" or ");

  function percent([n, d]) { // six digits, as "%g" in C: half to even, without zeros at the end
    let power = 0n, digits;
    const times = (k) => (k >= 0n ? [100n * n * 10n ** k, d] : [100n * n, d * 10n ** -k]);
    while (less(times(power), [100000n, 1n])) power++;
    const [top, bottom] = times(power), rest = (2n * top) % (2n * bottom);
    digits = top / bottom;
    if (rest > bottom || (rest === bottom && digits % 2n)) digits++;
    if (digits === 1000000n) { digits /= 10n; power--; }
    const text = String(digits), exponent = 5 - Number(power);
    const trim = (whole, part) => (part.replace(/0+$/, "") ? `${whole}.${part.replace(/0+$/, "")}` : whole);
    if (exponent < -4) return `${trim(text[0], text.slice(1))}e-${String(-exponent).padStart(2, "0")} %`;
    const padded = exponent < 0 ? "0".repeat(-exponent) + text : text, point = Math.max(exponent, 0) + 1;
    return `${trim(padded.slice(0, point), padded.slice(point))} %`;
  }

  const shareOf = (secret) => secret.get("share").split("/").map(BigInt);

  function claim(question, target) { // limits in words, of which counts they speak, and what is not protected
    const [n, d] = target.get("beta").split("/").map(BigInt), low = percent([n, d]), high = percent([d - n, d]);
    const options = question.get("options"), kappa = comma(target.get("kappa")), count = options.length;
    const id = (members) => options.map((option) => (members.includes(option) ? 1 : 0)).join("");
    const others = (key) => [...key].map((bit) => 1 - bit).join(""), ones = (key) => [...key].filter((bit) => bit === "1").length;
    const shares = new Map(question.get("secrets").map((secret) => [id(secret.get("options")), shareOf(secret)]));
    const few = ([a, b]) => a < b && less([b - a, b], [2n * n, d]);
    const above = options.filter((option) => shares.has(id([option])));
    const below = options.filter((option) => shares.has(others(id([option]))));
    const own = [...shares.keys()].filter((key) => ones(key) !== 1 && ones(key) !== count - 1);
    const least = [...question.get("least")].map(([name, least]) => `, nor that 1 to ${comma(least - 1)} chose ${quoted(name)}`).join("");
    const excepted = [...shares.values()].some(([a, b]) => !a || a === b) ? ", options that nobody or everybody chose excepted" : "";
    if (above.length === count && below.length === count && !own.length) {
      const rare = [...shares.values()].some(few) ? " (options that few or nearly all chose: within half of what the total leaves)" : "";
      return [`fewer than ${low} or more than ${high} of any checked group chose an option${rare}${excepted}${least}`, "A count", ""];
    }
    const singles = above.map((option) => shares.get(id([option])));
    const rare = singles.some(few) ? " (an option that nearly all chose: more than half of what the total leaves)" : "";
    let text = `more than ${high} of any checked group chose ${above.length === count ? "one option" : or(above)}${rare}${excepted}`;
    for (const key of own) { // a set and its complement are said together
      if (!own.includes(others(key)) || own.indexOf(key) < own.indexOf(others(key))) {
        text += `, nor that more than ${high} chose ${or(options.filter((_, i) => key[i] === "1"))}`;
        text += shares.has(others(key)) ? ` or that fewer than ${low} did` : "";
      }
    }
    if (below.length) text += `, nor that fewer than ${low} chose ${below.length < count ? or(below) : "an option"}`;
    const free = options.filter((o) => !above.includes(o) && !below.includes(o) && !question.get("least").has(o));
    const listed = free.length ? [`that people chose ${or(free)}`] : [];
    if (below.length < count) {
      listed.push("that nobody chose an option", "that all chose among several",
        `and small counts in groups of ${kappa} people or more (secrets = "both" asks for the first)`);
    }
    return [text + least, "A count above 0 of these", listed.length ? ` Not protected: ${listed.join(", ")}.` : ""];
  }

  function statement(certificate, label) {
    const [onlookers, target, earlier] = ["onlookers", "target", "earlier"].map((key) => certificate.get(key));
    const many = onlookers.length > 1, s = many ? "" : "s", questions = certificate.get("questions"), said = [];
    const rolls = onlookers.map((onlooker) => onlooker.get("roll")), joint = rolls.includes("joint");
    let knows = joint ? "how many people there are of every kind" : "no sizes of groups";
    if (!joint && rolls.includes("sizes")) knows = "how many people each group has";
    if (onlookers.some((onlooker) => onlooker.get("facts"))) knows += ` and hold${s} facts of their own`;
    const cycles = earlier.get("cycles"), tau = target.get("tau");
    if (cycles.length) {
      knows += `, and remember${s} the release of ${cycles.join(" and ")}`;
      knows += ` and believe${s} that nobody who stayed changed their answer`;
    }
    const claims = new Map(); // what is said in the same words of several questions is said once
    for (const question of questions) {
      const each = claim(question, target), key = JSON.stringify(each);
      claims.set(key, { each, of: [...(claims.has(key) ? claims.get(key).of : []), question.get("question")] });
    }
    const parts = [...claims.values()], counts = parts.map(({ each }) => each[1]).sort().pop(); // protected of every question
    const limits = parts.map(({ each, of }) => (parts.length > 1 ? `(${of.join(", ")}) ` : "") + each[0]).join("; ");
    const wide = `to an interval no wider than ${tau}`;
    said.push(
      `The onlooker${many ? "s" : ""} ${onlookers.map((each) => quoted(each.get("name"))).join(", ")}, who know${s} ${knows}, ` +
      `cannot infer that ${limits}. ${counts} can be inferred ` +
      `${tau ? `${wide} (in small groups: a quarter of their people)` : "exactly"} only for groups of ` +
      `${comma(target.get("kappa"))} people or more that lie within these limits, as all published groups do.` +
      unique(parts.map(({ each }) => each[2])).join(""));
    const sensitive = [...target.get("sensitive")].sort(([a], [b]) => byCode(a, b))
      .flatMap(([axis, names]) => [...names].sort(byCode).map((name) => `${axis} ${name}`));
    if (sensitive.length) {
      const more = sensitive.length > 10 ? ` and ${comma(sensitive.length - 10)} more` : "";
      said.push(` The counts of ${sensitive.slice(0, 10).join("; ")}${more}, which are sensitive, cannot be inferred ${tau ? wide : "exactly"}.`);
    }
    const noise = certificate.get("noise");
    if (noise.length) {
      const epsilons = noise.map((each) => each.get("epsilon")).join(" and ");
      said.push(` Noised counts of large groups are close to the true ones (noise of epsilon ${epsilons}).`);
      const groups = noise.flatMap((each) => each.get("posterior")).sort((a, b) => byCode(a.get("chance"), b.get("chance")));
      for (const group of groups.slice(-1)) {
        said.push(` To somebody who takes all counts as equally probable, the probability that ${group.get("axis")} ` +
          `${group.get("group")} is beyond a limit is ${group.get("chance")} (the draw of noised groups: ${group.get("draw")}).`);
      }
    }
    const [slack, unproved] = [certificate.get("slack"), certificate.get("unproved")];
    if (slack) said.push(` Totals disagree: every published count may be off by ${comma(slack)}.`);
    if (unproved) said.push(` For ${comma(unproved)} counts only fractional tables show it, which is no proof.`);
    said.push((label || certificate.get("rule").get("label")) === "rerun" ? RULE_SHOWN : RULE_NOT_SHOWN);
    if (cycles.length) {
      said.push(" What the totals of all cycles disclose by themselves is not covered.");
      if (earlier.get("held") === "group by group") said.push(" Earlier releases were compared group by group, not all together.");
      if (earlier.get("held") === "not") said.push(" Earlier releases were not held together with this one.");
      if (earlier.get("net")) {
        said.push(" Between cycles only net changes of the roll are compared: if people of one kind came and others of it left " +
          "at once, they are not covered.");
      }
    }
    for (const question of questions) {
      const secrets = question.get("secrets"), options = question.get("options"), people = question.get("people");
      const nobody = options.filter((option) =>
        secrets.some((secret) => same(secret.get("options"), [option]) && !shareOf(secret)[0]));
      const where = question.get("question") ? ` (${question.get("question")})` : "";
      if (nobody.length) said.push(` The total says that nobody chose ${or(nobody)}${where}.`);
      const sets = secrets.filter((each) => each.get("options").length === 1 || options.length - each.get("options").length > 1);
      const least = BigInt(people - Math.min(tau, Math.floor(people / 4)));
      const shown = sets.some((secret) => !less([shareOf(secret)[0] * BigInt(people), shareOf(secret)[1]], [least, 1n]));
      if ((people > 0 && people <= 2) || (people && (shown || least <= 0n))) {
        said.push(` The total alone shows how everybody voted${where}; publishing it is the decision of the office.`);
      }
    }
    if (questions.length > 1) {
      said.push(" Each question is about the people who answered it, and no table ties answers to different questions. Somebody " +
        "who knows how answers to different questions hang together can infer more.");
    }
    if (joint) {
      said.push(" Checked are all combinations of categories that occur, all pairs of columns, the published groups and any two " +
        "of them together. What the total, the roll and facts disclose by themselves does not count.");
    }
    return said.join("");
  }

  // 7. The proof: witnesses add up to everything that is published, and leave every cell within the limits.
  class Roll {
    constructor(name, content) {
      const rows = parseCsv(name, content);
      this.axes = rows.length ? [...rows[0].keys()].filter((column) => column !== "people") : [];
      this.profiles = [];
      this.people = [];
      for (const row of rows) {
        const good = /^[0-9]{1,15}$/.test(row.get("people") || "") && ![...row.values()].includes(null);
        refuse(!good, `${name}: a row has an empty label, or no number of people`);
        if (Number(row.get("people"))) {
          this.profiles.push(this.axes.map((axis) => row.get(axis)));
          this.people.push(Number(row.get("people")));
        }
      }
      const names = new Set(this.profiles.map((profile) => JSON.stringify(profile)));
      refuse(!names.size || names.size < this.profiles.length, `${name}: has no people, or a profile twice`);
    }

    column(axis) { const place = this.axes.indexOf(axis); return this.profiles.map((profile) => profile[place]); }

    counted(strip) { // in whatever order the file has its rows and columns
      const order = this.axes.map((_, i) => i).sort((a, b) => byCode(this.axes[a], this.axes[b]));
      const plain = (text) => (strip ? text.replace(/^'(?='*[=+@-])/, "") : text);
      const line = (profile) => JSON.stringify(order.map((i) => [this.axes[i], plain(profile[i])]));
      return new Map(this.profiles.map((profile, i) => [line(profile), this.people[i]]));
    }
  }

  class Level { // cells that part the profiles: the cell of every profile, and the people of every cell
    constructor(name, columns, people) {
      this.name = name;
      let cells = new Int32Array(people.length), count = Math.min(people.length, 1);
      for (const column of columns) { // every column splits the cells so far
        const numbers = new Map(), next = new Map(), wide = people.length + 1, split = new Int32Array(people.length);
        column.forEach((value, i) => {
          if (!numbers.has(value)) numbers.set(value, numbers.size);
          const key = cells[i] * wide + numbers.get(value);
          if (!next.has(key)) next.set(key, next.size);
          split[i] = next.get(key);
        });
        [cells, count] = [split, next.size];
      }
      [this.cellOf, this.count, this.inside] = [cells, count, new Map()];
      this.first = new Int32Array(count).fill(-1);
      cells.forEach((cell, profile) => { if (this.first[cell] < 0) this.first[cell] = profile; });
      this.people = this.added(people);
    }

    added(values) {
      const sums = new Float64Array(this.count), cells = this.cellOf;
      for (let i = 0; i < cells.length; i++) sums[cells[i]] += values[i];
      return sums;
    }

    within(other) { // whether each cell lies within one cell of another level
      if (!this.inside.has(other)) {
        const whole = new Uint8Array(this.count).fill(1);
        this.cellOf.forEach((cell, i) => { if (other.cellOf[this.first[cell]] !== other.cellOf[i]) whole[cell] = 0; });
        this.inside.set(other, whole);
      }
      return this.inside.get(other);
    }
  }

  class Proof {
    constructor(question, roll, tables, target) {
      const published = tables.filter((table) => table.printed.has(question.name));
      Object.assign(this, { question, roll, tables: published, target, witnesses: [], moves: [], width: question.options.length });
      const everybody = roll.people.reduce((a, b) => a + b, 0);
      refuse(everybody !== question.people, `${ROLL}: has ${comma(everybody)} people; the certificate says ${comma(question.people)}`);
      this.levelsOf = published.map((table) => this.published(table));
      this.facts = this.levelsOf.map((level) => [level.name, level, level.printed]);
    }

    published(table) {
      const groupOf = table.groupOf.get(this.question.name), columns = table.axes.map((axis, i) => {
        refuse(!this.roll.axes.includes(axis), `${ROLL}: has no column ${axis}, which ${table.name} has`);
        return this.roll.column(axis).map((name) => {
          refuse(!groupOf[i].has(name), `${table.name}: ${axis} '${name}' is on the roll and in no group`);
          return groupOf[i].get(name);
        });
      });
      const level = new Level(table.name, columns, this.roll.people), held = table.printed.get(this.question.name) || new Map();
      level.printed = [...level.first].map((profile) => this.question.options.map((_, option) => {
        const count = held.get(`${columns.map((column) => column[profile])}|${option}`);
        refuse(count === undefined, `${table.name}: has no row for a group that has people on the roll`);
        return count;
      }));
      level.axes = table.axes;
      return level;
    }

    addWitness(counts, number) {
      const name = `${WITNESSES}: table ${number}`, { width } = this, size = this.roll.profiles.length * width;
      const good = Array.isArray(counts) && counts.length === size && counts.every((count) => isInt(count) && count >= 0);
      refuse(!good, `${name}: is not a list of ${comma(size)} counts`);
      const columns = this.question.options.map((_, option) => Float64Array.from(this.roll.people, (__, i) => counts[i * width + option]));
      this.roll.people.forEach((people, i) => refuse(columns.reduce((sum, column) => sum + column[i], 0) > people,
        `${name}: has more answers of some profile than the roll has people`));
      for (const [fact, level, printed] of this.facts) {
        columns.forEach((column, option) => level.added(column).forEach((count, cell) => {
          const wanted = printed[cell][option];
          refuse(wanted !== null && wanted !== count, `${name}: adds up to other counts than ${fact}`);
        }));
      }
      this.witnesses.push(columns);
    }

    fix(stated) { // sums that all witnesses share with the first
      for (const entry of stated) {
        const axis = member(only(entry, "axis groups", "fixed"), "axis", isText, "fixed"), groupOf = new Map();
        member(entry, "groups", Array.isArray, "fixed").forEach((group, i) => texts(group, "fixed").forEach((name) => groupOf.set(name, i)));
        refuse(!this.roll.axes.includes(axis), `${WITNESSES}: fixed: there is no axis '${axis}'`);
        const of = this.roll.column(axis).map((name) => (groupOf.has(name) ? groupOf.get(name) : -1));
        const level = new Level(axis, [of], this.roll.people), sums = this.witnesses[0].map((column) => level.added(column));
        this.facts.push([`fixed ${axis}`, level, [...level.first].map((i, cell) => sums.map((sum) => (of[i] < 0 ? null : sum[cell])))]);
      }
    }

    addMove(stated, number) { // changes of some counts of one witness that leave every printed count as it is
      const name = `${WITNESSES}: move ${number}`, start = member(only(stated, "from changes", name), "from", isInt, name), { width } = this;
      refuse(start < 0 || start >= this.witnesses.length, `${name}: starts from no table`);
      const steps = new Map(), profiles = new Set();
      for (const change of member(stated, "changes", Array.isArray, name)) {
        refuse(!Array.isArray(change) || change.length !== 3 || !change.every(isInt), `${name}: is not a list of changes`);
        const [profile, option, step] = change, inside = profile >= 0 && profile < this.roll.people.length && option >= 0 && option < width;
        refuse(!inside || steps.has(profile * width + option), `${name}: names a count that does not exist, or one twice`);
        steps.set(profile * width + option, step);
        profiles.add(profile);
      }
      for (const profile of profiles) {
        const counts = this.witnesses[start].map((column, option) => column[profile] + (steps.get(profile * width + option) || 0));
        refuse(Math.min(...counts) < 0 || counts.reduce((a, b) => a + b, 0) > this.roll.people[profile],
          `${name}: leaves a negative count, or more answers than people`);
      }
      const changes = [...steps].map(([place, step]) => [Math.floor(place / width), place % width, step]);
      for (const [fact, level, printed] of this.facts) {
        const sums = new Map();
        for (const [profile, option, step] of changes) {
          const key = level.cellOf[profile] * width + option;
          sums.set(key, (sums.get(key) || 0) + step);
        }
        const kept = [...sums].every(([key, step]) => !step || printed[Math.floor(key / width)][key % width] === null);
        refuse(!kept, `${name}: changes a count of ${fact}`);
      }
      this.moves.push([start, changes]);
    }

    *levels(sets) {
      const { people } = this.roll, columns = (axes) => axes.map((axis) => this.roll.column(axis));
      yield new Level("full profiles", columns(this.roll.axes), people);
      for (const axes of sets) {
        const level = new Level(axes.join(" x "), columns(axes), people), named = this.target.get("sensitive").get(axes[0]) || [];
        const names = this.roll.column(axes[0]);
        if (axes.length === 1) level.sensitive = [...level.first].map((profile) => named.includes(names[profile]));
        yield level;
      }
      const spoken = this.levelsOf.filter((level) => level.axes.length);
      yield* spoken;
      for (const [one, other] of pairs(spoken)) {
        if (one.axes.some((axis) => other.axes.includes(axis))) continue;
        yield new Level(`${one.name} x ${other.name}, as published`, [one.cellOf, other.cellOf], people);
      }
    }

    checkLevel(level) { // how many counts nothing shows within the limits
      const sums = this.witnesses.map((columns) => columns.map((column) => level.added(column)));
      const kappa = this.target.get("kappa"), tau = this.target.get("tau"), everybody = this.question.people;
      let missing = 0;
      for (const { members, share, ceiling } of this.question.secrets) {
        const [least, most] = this.range(level, sums, members), total = this.question.total(members), limits = new Map();
        for (let cell = 0; cell < level.count; cell++) {
          const n = level.people[cell], near = Math.min(tau, Math.floor(n / 4)), a = least[cell], b = most[cell];
          if (!limits.has(n)) limits.set(n, Number((BigInt(n) * ceiling[0]) / ceiling[1]));
          const limit = limits.get(n), never = level.sensitive ? level.sensitive[cell] : false;
          if (!share[0] || share[0] === share[1]) continue;
          if (a <= limit && (b - a > near || (!never && (a === 0 || (n >= kappa && a + near <= limit))))) continue;
          const first = Math.max(total - (everybody - n), 0), last = Math.min(total, n); // by the total and the roll alone
          const known = first > limit || (last - first <= near && (first >= 1 || never));
          if (known && !(n >= kappa && last <= limit && !never)) continue;
          if (n >= kappa && !never && this.isPrinted(level, cell, members, limit)) continue;
          missing++;
        }
      }
      for (const [option, fewest] of this.question.least) { // 1 to fewest - 1 may not be known
        const [least, most] = this.range(level, sums, [option]), total = this.question.totals[option];
        for (let cell = 0; cell < level.count; cell++) {
          const n = level.people[cell], known = total > everybody - n && Math.min(total, n) < fewest;
          if (least[cell] > 0 && most[cell] < fewest && !known) missing++;
        }
      }
      return missing;
    }

    range(level, sums, members) { // per cell the least and the most who chose within a secret
      const values = sums.map((by) => members.map((option) => by[option]).reduce((one, other) => one.map((n, i) => n + other[i])));
      const least = values.slice(1).reduce((one, other) => one.map((n, i) => Math.min(n, other[i])), values[0].slice());
      const most = values.slice(1).reduce((one, other) => one.map((n, i) => Math.max(n, other[i])), values[0].slice());
      for (const [start, changes] of this.moves) {
        const changed = new Map();
        for (const [profile, option, step] of changes) {
          const cell = level.cellOf[profile];
          if (members.includes(option)) changed.set(cell, (changed.get(cell) || 0) + step);
        }
        for (const [cell, step] of changed) {
          least[cell] = Math.min(least[cell], values[start][cell] + step);
          most[cell] = Math.max(most[cell], values[start][cell] + step);
        }
      }
      return [least, most];
    }

    isPrinted(level, cell, members, limit) { // whether a table prints just this cell, within the limit
      return this.levelsOf.some((published) => {
        const at = published.cellOf[level.first[cell]];
        if (published.people[at] !== level.people[cell] || !level.within(published)[cell]) return false;
        const counts = members.map((option) => published.printed[at][option]);
        return !counts.includes(null) && counts.reduce((a, b) => a + b, 0) <= limit;
      });
    }
  }

  async function checkAuditors(certificate, auditors, questions, tables, result, pause) {
    const manifest = checkHashes(auditors, "auditors/", null);
    refuse(sha256(auditors.get(MANIFEST)) !== certificate.get("auditors"), "auditors: is not the folder that the certificate commits to");
    const salt = manifest.get("salt"), plain = new Map([...manifest].filter(([key]) => key !== "reason"));
    const known = new Map([["schema", 2], ["kind", "auditors"], ["salt", salt], ["files", manifest.get("files")]]);
    refuse(!isText(salt) || salt.length !== 64 || !same(plain, known), `auditors/${MANIFEST}: states something else, or has no salt`);
    if (!auditors.has(WITNESSES)) {
      result.unchecked.push(`the statement: ${member(manifest, "reason", isText, MANIFEST)}.`);
      return;
    }
    const beyond = certificate.get("slack") || certificate.get("noise").length || certificate.get("unproved");
    const facts = certificate.get("onlookers").some((onlooker) => onlooker.get("facts"));
    refuse(beyond || facts || certificate.get("earlier").get("cycles").length,
      `${WITNESSES}: says nothing about noise, facts, earlier releases or totals that disagree`);
    refuse(!certificate.get("onlookers").every((onlooker) => onlooker.get("roll") === "joint"),
      `${WITNESSES}: an onlooker does not know the joint roll, which it discloses`);
    const proofs = only(parseJson(WITNESSES, auditors.get(WITNESSES)), "schema questions", WITNESSES);
    refuse(proofs.get("schema") !== 2 || manifest.has("reason"), `${WITNESSES}: is of another schema`);
    const carried = member(proofs, "questions", Array.isArray, WITNESSES);
    const byName = new Map(carried.map((each) => [member(each, "question", isText, WITNESSES), each]));
    refuse(carried.length !== questions.length || !questions.every((question) => byName.has(question.name)),
      `${WITNESSES}: is about other questions than the certificate`);
    for (const question of questions) {
      const held = only(byName.get(question.name), "question roll tables moves fixed", WITNESSES), name = member(held, "roll", isText, WITNESSES);
      refuse(!auditors.has(name), `${WITNESSES}: there is no roll '${name}'`);
      const proof = new Proof(question, new Roll(name, auditors.get(name)), tables, certificate.get("target"));
      member(held, "tables", Array.isArray, WITNESSES).forEach((counts, number) => {
        proof.addWitness(counts, number);
        if (!number) proof.fix(member(held, "fixed", Array.isArray, WITNESSES));
      });
      refuse(!proof.witnesses.length, `${WITNESSES}: holds no table`);
      member(held, "moves", Array.isArray, WITNESSES).forEach((move, number) => proof.addMove(move, number));
      for (const level of proof.levels(checkedSets(certificate, proof.tables))) {
        await pause(level.name);
        const missing = proof.checkLevel(level);
        refuse(missing, `${WITNESSES}: does not show ${comma(missing)} counts within the limits (${level.name})`);
        result.cells += level.count * (question.secrets.length + question.least.length);
      }
      result.tables += proof.witnesses.length;
      result.moves += proof.moves.length;
    }
    result.proved = true;
  }

  // 8. The page: it embeds the rows of all tables as data, and shows the same rows.
  function checkPage(content, tables, result) {
    const text = decoded(PAGE, content), tag = (name) => `<${name}`; // so that this program is no part of what it looks for
    const data = [...text.matchAll(new RegExp(`${tag("script")}[^>]*id="tables"[^>]*>(.*?)</${"script"}>`, "gs"))];
    const wanted = new Map(tables.map((table) => [table.name, table.rows]));
    refuse(data.length !== 1 || !same(parseJson(PAGE, data[0][1]), wanted), `${PAGE}: its block of data holds other numbers than the tables`);
    const found = [...text.matchAll(new RegExp(`${tag("table")}.*?</${"table"}>`, "gs"))];
    const shown = found.map(([body]) => [...body.matchAll(/<tr.*?<\/tr>/gs)]
      .map(([row]) => [...row.matchAll(/<t[dh][^>]*>([^<]*)<\/t[dh]>/g)].map(([, cell]) => cell.replaceAll("\xa0", " "))))
      .filter((rows) => rows.length && same(rows[0].slice(-3), ["option", "count", "status"])).map((rows) => rows.slice(1));
    const escapes = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&#34;", "'": "&#39;" };
    const cell = (value) => (isInt(value) ? comma(value) : (value || "").replaceAll("\xa0", " ").replace(/[&<>"']/g, (c) => escapes[c]));
    refuse(!same(shown, tables.map((table) => table.rows.slice(0, PAGE_ROWS).map((row) => row.map(cell)))),
      `${PAGE}: shows other numbers than the tables`);
    result.unchecked.push(`what ${PAGE} shows and ${MANIFEST} states beside what the tables and the certificate do.`);
  }

  // 9. The signature: Ed25519 in the format of minisign, by Web Crypto; false where this program cannot check it.
  async function checkSignature(files, key) {
    const lines = (name, content) => decoded(name, content).replace(/(\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029])$/, "")
      .split(/\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/);
    const unpacked = (name, line, length) => {
      const good = line.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(line);
      const content = Uint8Array.from(good ? atob(line) : "", (letter) => letter.charCodeAt(0));
      refuse(content.length !== length, `${name}: is not a file of minisign`);
      return content;
    };
    const is = (bytes, from, text) => [...text].every((letter, i) => bytes[from + i] === letter.charCodeAt(0));
    const keyLines = lines("key", key), pub = unpacked("key", keyLines.length <= 2 ? keyLines[keyLines.length - 1] : "", 42);
    refuse(!is(pub, 0, "Ed"), "key: is not a public key of minisign");
    refuse(!files.has(SIGNATURE) || !files.get(SIGNATURE).length, `${SIGNATURE}: is missing or empty; nobody has signed ${MANIFEST}`);
    const signed = lines(SIGNATURE, files.get(SIGNATURE)), trusted = "trusted comment: ";
    refuse(signed.length !== 4 || !signed[2].startsWith(trusted), `${SIGNATURE}: is not a signature of minisign`);
    const mark = unpacked(SIGNATURE, signed[1], 74), whole = unpacked(SIGNATURE, signed[3], 64);
    refuse(!mark.slice(2, 10).every((byte, i) => byte === pub[2 + i]), `${SIGNATURE}: was made with another key`);
    refuse(!is(mark, 0, "ED"), `${SIGNATURE}: signs in the old way of minisign, without a hash; sign again`);
    const comment = new TextEncoder().encode(signed[2].slice(trusted.length)), subtle = globalThis.crypto && globalThis.crypto.subtle;
    let valid;
    try {
      const imported = await subtle.importKey("raw", pub.slice(10), { name: "Ed25519" }, false, ["verify"]);
      const signs = (signature, message) => subtle.verify({ name: "Ed25519" }, imported, signature, message);
      valid = await signs(mark.slice(10), blake2b(files.get(MANIFEST))) && await signs(whole, Uint8Array.from([...mark.slice(10), ...comment]));
    } catch { return false; }
    refuse(!valid, `${SIGNATURE}: does not sign ${MANIFEST} as it is; one of them was changed`);
    return true;
  }

  // Check a published folder, with the folder for auditors if it is at hand; both as Maps of file name to Uint8Array.
  async function check(files, auditors = null, key = null, roll = null, pause = async () => {}) {
    const result = { failures: [], unchecked: [], warnings: [], statement: "", proved: false, files: 0, tables: 0, moves: 0, cells: 0 };
    try {
      const [certificate, count] = checkFiles(files);
      const [questions, tables] = checkCertificate(certificate, files, result);
      result.files = count;
      checkPage(files.get(PAGE), tables, result);
      const isSigned = key !== null && await checkSignature(files, key);
      if (auditors !== null) {
        await checkAuditors(certificate, auditors, questions, tables, result, pause);
        if (roll !== null) {
          const own = new Roll("roll", roll), theirs = new Roll(ROLL, auditors.get(ROLL) || new Uint8Array()).counted();
          refuse(!same(theirs, own.counted()) && !same(theirs, own.counted(true)), "roll: has other people than the one in the folder for auditors");
        }
      }
      const notes = [
        [auditors === null, "the statement: it needs the folder `auditors`, for those who may hold it."],
        [key !== null && !isSigned, "the signature: this browser has no Ed25519."],
        [key === null, "who made the files: without a signature and a key, they agree with each other at most."],
        [certificate.get("rule").get("label") === "rerun", RULE_NOTE],
        [(certificate.get("figures") || []).length, "that the files of derived figures follow from the tables."],
        [certificate.get("noise").length, "how the noise was drawn, and what noised counts disclose."],
        [certificate.get("slack"), "why totals disagree."],
        [certificate.get("earlier").get("cycles").length, "what earlier releases add, and whether all of them are listed."],
        [true, "the counts themselves, the roll, and what onlookers know that is not stated."], ];
      result.unchecked.push(...notes.filter(([applies]) => applies).map(([, note]) => note));
      result.statement = statement(certificate, "not shown");
    } catch (error) {
      const form = `a file does not have the form that docs/certificate.md describes (${error})`;
      result.failures.push(error instanceof Finding ? error.message : form);
    }
    result.outcome = result.failures.length ? FAILS : result.proved ? HOLDS : NOT_CHECKED;
    return result;
  }

  return { check, sha256, blake2b, parseJson, parseCsv, percent };
})();
if (typeof module !== "undefined") module.exports = safemarginVerify;
