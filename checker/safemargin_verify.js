"use strict";
/* Check the certificate of a safemargin release in a browser, or with Node: one file, no dependency, no network. It follows
docs/certificate.md as safemargin_verify.py does, shares no code with it, and is run on the same certificates. Whoever
forges a page can forge the checker inside: a verdict that counts comes from a copy that was obtained elsewhere.
A profile is one category per axis; a witness gives counts to every profile that add up to all that is published; a cell
is a set of people; a secret is a set of options of which nobody may infer that nearly all of a group chose within it.
Objects of JSON are Maps here, and fractions pairs of integers. */
const safemarginVerify = (() => {
  const [MANIFEST, CERTIFICATE, PAGE] = ["manifest.json", "certificate.json", "index.html"];
  const [SIGNATURE, WITNESSES, ROLL] = ["manifest.json.minisig", "witnesses.json", "roll.csv"];
  const COUNTED = ["exact", "merged"], PAGE_ROWS = 2000; // statuses of true counts; rows of a table that the page shows

  class Finding extends Error {} // something that is wrong, in one line that names the file
  const refuse = (wrong, text) => { if (wrong) throw new Finding(text); };

  // 1. Bytes: SHA-256 comes with the browser.
  const digits = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  const sha256 = async (content) => digits(new Uint8Array(await globalThis.crypto.subtle.digest("SHA-256", content)));

  // 2. Texts: strict readers, so that no two programs can read different things from one file.
  function decoded(name, content) {
    let text;
    try { text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content); } catch { throw new Finding(`${name}: is not UTF-8`); }
    refuse(/[\ufeff\0]/.test(text), `${name}: has a byte order mark, or a character 0`);
    return text;
  }
  // JSON with objects as Maps: keys keep their order, whatever they are called, and none stands twice in an object.
  // A number with a point or an exponent, which only a manifest may have, is { real }.
  function parseJson(name, content, free = false) { // free: certificates of intervals, whose integers are BigInts
    const text = decoded(name, content), pattern = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]:,]|[^\s{}[\]:,"]+/g;
    try { JSON.parse(text); } catch { throw new Finding(`${name}: is not JSON`); } // from here on, only its values count
    const next = () => pattern.exec(text)[0];
    const value = (token, depth) => {
      refuse(depth >= 100 && "[{".includes(token), `${name}: is nested more than 100 deep`);
      if ("[{".includes(token)) {
        const found = new Map(), isObject = token === "{"; // of a list, by place
        while (!"]}".includes(token = next())) {
          if (token === ",") token = next();
          const key = isObject ? JSON.parse(token) : found.size, colon = isObject && next();
          refuse(found.has(key), `${name}: has a key twice in one object`);
          found.set(key, value(colon ? next() : token, depth + 1));
        }
        return isObject ? found : [...found.values()];
      }
      if (!/^[-0-9]/.test(token)) return JSON.parse(token);
      const isReal = /[.eE]/.test(token);
      refuse(!free && (isReal ? name !== MANIFEST : token.length > 15), `${name}: has the number ${token.slice(0, 60)}`);
      return isReal ? { real: Number(token) } : free ? BigInt(token) : Number(token) + 0;
    };
    return value(next(), 0);
  }
  // Rows of a CSV file (RFC 4180; any end of line) as Maps; an empty field is null.
  function parseCsv(name, content) {
    const text = decoded(name, content), lines = [[]];
    const pattern = /(?:"((?:[^"]+|"")*)"|([^",\r\n][^,\r\n]*|))(,|\r\n|\r|\n|$)/y;
    for (let end = ""; pattern.lastIndex < text.length || end === ",";) {
      const start = pattern.lastIndex, match = pattern.exec(text), line = lines.at(-1);
      refuse(!match, `${name}: is not CSV`);
      end = match[3];
      const isField = match[0] !== end || end === "," || line.length || start === text.length; // no empty line
      if (isField) line.push(match[1] ? match[1].replaceAll('""', '"') : match[2] || "");
      if (end !== "," && pattern.lastIndex < text.length) lines.push([]);
    }
    const [head, ...rows] = lines, even = rows.every((line) => line.length === head.length);
    refuse(lines.some((line) => line.some((field) => field.length > 100000 && [...field].length > 100000)), `${name}: has a field that is too long`);
    refuse(!text || new Set(head).size < head.length, `${name}: has no columns, or two of one name`);
    refuse(!even, `${name}: a row has more or fewer fields than columns`);
    return rows.map((line) => new Map(line.map((field, i) => [head[i], field || null])));
  }

  // 3. Values of the form that docs/certificate.md gives them.
  const isMap = (value) => value instanceof Map, isList = Array.isArray, isInt = Number.isInteger;
  const isText = (value) => typeof value === "string", isBool = (value) => typeof value === "boolean";
  const isTexts = (value) => isList(value) && value.every(isText) && new Set(value).size === value.length;
  const isCount = (value) => isInt(value) && value >= 0, oneOf = (...known) => (value) => known.includes(value);
  const divisor = (a, b) => (b ? divisor(b, a % b) : a), isLowest = ([a, b], text) => a <= b && `${a}/${b}` === text && divisor(a, b) === 1n;
  const isFraction = (text) => isText(text) && /^[0-9]{1,40}\/[1-9][0-9]{0,39}$/.test(text) && isLowest(fraction(text), text);
  const fraction = (text) => text.split("/").map(BigInt), less = ([a, b], [c, d]) => a * d < c * b;
  const sum = (values) => values.reduce((one, other) => one + other, 0);
  const tally = (entries) => { // the sum of the numbers of every key
    const sums = new Map();
    for (const [key, n] of entries) sums.set(key, (sums.get(key) || 0) + n);
    return sums;
  };
  const pairs = (items) => items.flatMap((one, i) => items.slice(i + 1).map((other) => [one, other]));
  const comma = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, ",");
  const expect = (value, is, where) => { refuse(!is(value), `${where}: a value is of another kind`); return value; };
  // Every name with its number; CSV may have an apostrophe before one that a spreadsheet would run.
  const numbered = (names) => new Map([...names.map((name, i) => [`'${name}`, i]), ...names.map((name, i) => [name, i])]);
  // An object with just these keys, each of its kind: what this program does not know, it cannot check.
  function fields(holder, kinds, where) {
    const names = Object.keys(kinds);
    const known = isMap(holder) && holder.size === names.length && names.every((name) => holder.has(name));
    refuse(!known, `${where}: has other keys than ${names.join(" ")}`);
    names.forEach((name) => refuse(!kinds[name](holder.get(name)), `${where}: ${name}: is of another kind`));
    return Object.fromEntries(holder);
  }
  // A value of JSON as one text, by which values are compared: `1`, `1.0` and `true` differ, and objects have no order.
  function canonical(value) {
    if (isList(value)) return `[${value.map(canonical)}]`;
    if (!isMap(value)) return String(typeof value === "bigint" ? value : JSON.stringify(value));
    return `{${[...value].map(([key, each]) => JSON.stringify(key) + canonical(each)).sort()}}`;
  }
  const same = (one, other) => canonical(one) === canonical(other);

  // 4. Files: exactly those of the manifest, as they were hashed.
  async function checkHashes(files, place, signature) {
    refuse(!files.has(MANIFEST), `${place}${MANIFEST}: is missing`);
    const manifest = expect(parseJson(MANIFEST, files.get(MANIFEST)), isMap, `${place}${MANIFEST}`);
    const hashes = expect(manifest.get("files"), isMap, `${place}${MANIFEST}: files`);
    const held = [...files.keys()].filter((name) => name !== MANIFEST && name !== signature);
    const odd = [...held, ...hashes.keys()].find((name) => !held.includes(name) || !hashes.has(name) || name.includes("/"));
    const how = hashes.has(odd) && !held.includes(odd) ? "is missing" : "lies in the folder, but its manifest does not name it";
    refuse(odd !== undefined, `${place}${odd}: ${how}`);
    for (const [name, mark] of hashes) refuse(await sha256(files.get(name)) !== mark, `${place}${name}: its hash is not that of the manifest`);
    return manifest;
  }
  const KINDS = { // of the fields of a certificate
    schema: oneOf(2), kind: oneOf("release"), title: isText, target: isMap, onlookers: isList, questions: isList,
    tables: isList, checked: isList, rule: isMap, earlier: isMap, noise: isList, slack: isCount, unproved: isCount,
    auditors: isText, statement: isText, figures: isTexts };
  const TARGET = { beta: isFraction, kappa: (n) => isInt(n) && n > 0, tau: isCount, sensitive: isMap };
  function checkFiles(files, manifest) { // the certificate, whose files and limits are those of the manifest
    refuse(!files.has(CERTIFICATE) || !files.has(PAGE), `${CERTIFICATE} or ${PAGE}: is missing`);
    const read = expect(parseJson(CERTIFICATE, files.get(CERTIFICATE)), isMap, CERTIFICATE);
    const certificate = fields(new Map([["figures", []], ...read]), KINDS, CERTIFICATE);
    const target = fields(certificate.target, TARGET, `${CERTIFICATE}: target`), hashes = manifest.get("files");
    const own = [CERTIFICATE, PAGE, ...certificate.figures].map((name) => [name, hashes.get(name)]);
    const tables = certificate.tables.map((table) => expect(table, isMap, `${CERTIFICATE}: tables`).get("files"));
    const listed = [...own, ...tables.flatMap((each) => [...expect(each, isMap, `${CERTIFICATE}: tables: files`)])];
    const agree = listed.length === hashes.size && same(new Map(listed), hashes);
    refuse(!agree, `${MANIFEST}: names other files or hashes than the certificate`);
    const limits = new Map([["sensitive", new Map()], ...expect(manifest.get("target"), isMap, MANIFEST)]);
    const { title, statement: text, auditors, rule } = certificate, [n, d] = fraction(target.beta).map(Number);
    const stated = ["schema", "kind", "title", "statement", "auditors", "rule"].map((key) => manifest.get(key));
    stated.push(...["kappa", "tau", "sensitive"].map((key) => limits.get(key)));
    const wanted = [2, "release", title, text, auditors, rule.get("label"), target.kappa, target.tau, target.sensitive];
    const near = Math.abs((limits.get("beta") || {}).real - n / d) < 1e-12;
    refuse(!near || !same(stated, wanted), `${MANIFEST}: is of another kind, or states something else than the certificate`);
    return { ...certificate, target: { ...target, beta: fraction(target.beta) } };
  }

  // 5. The certificate: every field is checked against the tables, or against what it must follow from.
  const QUESTION = { question: isText, options: isTexts, people: isCount, secrets: isList, least: isMap };
  const SECRET = { options: isTexts, share: isFraction, ceiling: isFraction };
  const isRead = (name) => /\.(csv|json)$/.test(name) && !name.endsWith(".sdmx.csv");
  class Question {
    constructor(stated, beta) {
      const where = `${CERTIFICATE}: questions`;
      const { question, options, people, secrets, least } = fields(stated, QUESTION, where);
      this.secrets = secrets.map((secret) => {
        const held = fields(secret, SECRET, where), share = fraction(held.share), ceiling = fraction(held.ceiling);
        const members = held.options.map((name) => options.indexOf(name)).sort((a, b) => a - b);
        const { length } = members, none = !length || length === options.length || members.includes(-1);
        refuse(none, `${where}: a secret is no set of some options`);
        const half = [share[1] - share[0], 2n * share[1]], [n, d] = less(half, beta) ? half : beta;
        refuse(ceiling[0] * d !== (d - n) * ceiling[1], `${where}: a ceiling does not follow from beta and its share`);
        return { members, share, ceiling };
      });
      this.least = [...least].map(([name, n]) => [options.indexOf(name), n]);
      const once = new Set(this.secrets.map(({ members }) => members.join())).size === secrets.length;
      const clear = this.least.every(([option, n]) => option >= 0 && isInt(n) && n > 1);
      refuse(!once || !clear, `${where}: has a secret twice, or a least count of no option`);
      Object.assign(this, { name: question, options, people, numbers: numbered(options) });
    }
    checkTotals(total) { // shares follow from the total that is published
      const printed = total.printed.get(this.name) || new Map(), people = BigInt(Math.max(this.people, 1));
      this.totals = this.options.map((_, option) => printed.get(`|${option}`));
      refuse(!this.totals.every(isInt), `${total.name}: does not print the total of every option`);
      refuse(sum(this.totals) > this.people, `${CERTIFICATE}: questions: there are fewer people than answers`);
      const follow = this.secrets.every(({ members, share: [n, d] }) => n * people === d * BigInt(this.total(members)));
      refuse(!follow, `${CERTIFICATE}: questions: a share does not follow from the total`);
    }
    total(members) { return sum(members.map((option) => this.totals[option])); }
  }
  const TABLE = { name: isText, axes: isTexts, groups: isList, files: isMap };
  class Table { // one published table: which group every category falls in, and what is printed
    constructor(stated, files, questions, result) {
      const where = `${CERTIFICATE}: tables`, { name, axes, groups, files: own } = fields(stated, TABLE, where);
      const reserved = axes.some(oneOf("question", "option", "count", "status"));
      refuse(reserved || groups.length !== axes.length || !groups.every(isMap), `${where}: ${name}: has other axes`);
      const isNamed = ([label, names]) => isTexts(names) && names.length && label === names.join(" | ");
      refuse(!groups.every((each) => [...each].every(isNamed)), `${where}: ${name}: a label is not the name of its categories`);
      const labels = groups.map((each) => [...each.keys()]), members = groups.map((each) => [...each.values()]);
      Object.assign(this, { name, axes, rows: [], numbers: labels.map(numbered) });
      this.printed = new Map(); // by question: groups and option to the count, or null for a gap or noise
      this.groupOf = new Map(); // by question and axis: category to group
      for (const [question, codes, option, count, status] of this.read(own, files, questions, result)) {
        const { options } = questions.find((each) => each.name === question), isTrue = COUNTED.includes(status);
        const shown = codes.map((code, axis) => labels[axis][code]);
        this.rows.push([...(question ? [question] : []), ...shown, options[option], count, status]);
        if (!this.printed.has(question)) this.printed.set(question, new Map());
        if (!this.groupOf.has(question)) this.groupOf.set(question, axes.map(() => new Map()));
        this.printed.get(question).set(`${codes}|${option}`, isTrue ? count : null);
        codes.forEach((code, axis) => members[axis][code].forEach((category) => {
          const of = this.groupOf.get(question)[axis], apart = of.has(category) && of.get(category) !== code;
          refuse(apart, `${name}: a category is in two groups`);
          of.set(category, code);
        }));
      }
      this.isWhole = this.rows.every((row) => COUNTED.includes(row.at(-1)));
    }
    read(own, files, questions, result) { // the rows, which all files that are read agree on
      const names = [...own.keys()], others = names.filter((name) => !isRead(name));
      result.unchecked.push(...others.map((name) => `that ${name} prints the same as the other formats of its table.`));
      const parse = (name) => (name.endsWith(".csv") ? parseCsv : parseJson)(name, files.get(name));
      const known = names.filter(isRead).map((name) => this.cells(name, parse(name), questions));
      const agree = known.length && known.every((each) => same(each, known[0]));
      refuse(!agree, `${this.name}: its files print different rows, or none of them is CSV or JSON`);
      return known.at(-1).values();
    }
    cells(name, rows, questions) {
      const many = questions[0].name ? ["question"] : [], cells = new Map();
      const columns = [...many, ...this.axes, "option", "count", "status"];
      expect(rows, isList, name).forEach((row, number) => {
        const where = `${name}: row ${number + 1}`;
        refuse(!isMap(row) || !same([...row.keys()], columns), `${where}: has other columns than ${columns.join(", ")}`);
        const question = questions.find((each) => each.name === (many.length ? row.get("question") : ""));
        const option = question && question.numbers.get(row.get("option")), status = row.get("status");
        const codes = this.axes.map((axis, i) => this.numbers[i].get(row.get(axis)));
        const known = option !== undefined && !codes.includes(undefined);
        refuse(!known, `${where}: has a label or an option that the certificate does not list`);
        const key = canonical([question.name, codes, option]);
        refuse(cells.has(key), `${where}: occurs twice`);
        const count = row.get("count"), isGap = status === "suppressed", text = isText(count) || isInt(count) ? count : "";
        refuse(!["noised", "suppressed", ...COUNTED].includes(status), `${where}: its status is unknown`);
        refuse(isGap ? count !== null : !/^-?[0-9]{1,15}$/.test(text), `${where}: its count is no integer, or fills a gap`);
        refuse(Number(count) < 0 && status !== "noised", `${where}: its count is negative`);
        cells.set(key, [question.name, codes, option, isGap ? null : Number(count) + 0, status]);
      });
      refuse(!cells.size, `${name}: has no rows`);
      return cells;
    }
  }
  function checkedSets(certificate, tables) {
    if (!certificate.onlookers.some(({ roll }) => roll === "joint")) return [];
    const axes = [...new Set(tables.flatMap((table) => table.axes))];
    return [...(axes.length > 2 ? [axes] : []), ...pairs(axes), ...axes.map((axis) => [axis])];
  }
  const ONLOOKER = { name: isText, roll: oneOf("none", "sizes", "joint"), facts: isBool, earlier: isBool };
  const EARLIER = { cycles: isTexts, held: oneOf("jointly", "group by group", "not"), net: isBool };
  const fits = (pattern) => (value) => isText(value) && pattern.test(value); // numbers that the statement repeats
  const NOISE = { epsilon: fits(/^[0-9]+(\.[0-9]+)?(e[-+][0-9]+)?$/), posterior: isList, omitted: isTexts };
  const POSTERIOR = { axis: isText, group: isText, chance: fits(/^(0\.[0-9]{3}|1\.000)$/), secret: isText, draw: oneOf("counted", "not counted") };
  // The certificate with its questions and tables, all of whose fields follow from each other and from the files.
  function checkCertificate(stated, files, result) {
    const { target, slack } = stated, where = (key) => `${CERTIFICATE}: ${key}`;
    const proper = target.beta[0] > 0n && less(target.beta, [1n, 2n]) && [...target.sensitive.values()].every(isTexts);
    refuse(!proper, `${where("target")}: is impossible`);
    const questions = stated.questions.map((each) => new Question(each, target.beta));
    const once = questions.length && new Set(questions.map(({ name }) => name)).size === questions.length;
    refuse(!once || (questions.length < 2 && stated.figures.length), `${where("questions")}: there is none, or one stands twice, or figures are of a single one`);
    const tables = stated.tables.map((each) => new Table(each, files, questions, result));
    const total = tables.filter(({ axes }) => !axes.length), sets = tables.map(({ axes }) => canonical([...axes].sort()));
    const apart = total.length === 1 && [sets, tables.map(({ name }) => name)].every((each) => new Set(each).size === tables.length);
    refuse(!apart, `${where("tables")}: there must be one total, and one table of any set of axes`);
    for (const question of questions) {
      question.checkTotals(total[0]);
      for (const table of tables.filter((each) => !slack && each.isWhole && each.printed.has(question.name))) {
        const sums = tally([...table.printed.get(question.name)].map(([key, count]) => [key.split("|")[1], count]));
        const agree = question.totals.every((total, option) => total === (sums.get(String(option)) || 0));
        refuse(!agree, `${table.name}: adds up to another total`);
      }
    }
    const each = (key, kinds) => stated[key].map((held) => fields(held, kinds, where(key)));
    const [onlookers, noise, earlier] = [each("onlookers", ONLOOKER), each("noise", NOISE), fields(stated.earlier, EARLIER, where("earlier"))];
    const rule = fields(stated.rule, { label: oneOf("rerun", "not shown") }, where("rule")).label;
    const certificate = { ...stated, questions, tables, onlookers, earlier, rule, noise }, { cycles, held, net } = earlier;
    refuse(!same(stated.checked, checkedSets(certificate, tables)), `${where("checked")}: are other sets of axes`);
    const known = onlookers.some((onlooker) => onlooker.earlier) === cycles.length > 0 && (cycles.length || (held === "not" && !net));
    refuse(!onlookers.length || !known, `${where("earlier")}: says otherwise than the onlookers, or there are none`);
    for (const one of noise) one.posterior = one.posterior.map((group) => fields(group, POSTERIOR, where("noise")));
    const ids = (items) => [...new Set(items.map(canonical))].sort();
    const noised = ids(tables.flatMap((table) =>
      table.rows.filter((row) => row.at(-1) === "noised").map((row) => [table.axes[0], row.at(-4)])));
    const claimed = ids(noise.flatMap(({ posterior }) => posterior.map(({ axis, group }) => [axis, group])));
    const some = noise.some(({ omitted }) => claimed.length || !omitted.length);
    const agree = noised.length > 0 === some && (!claimed.length || same(claimed, noised));
    refuse(!agree, `${where("noise")}: is not what the tables have`);
    refuse(statement(certificate) !== certificate.statement, `${CERTIFICATE}: its statement does not follow from it`);
    const weaker = { "beta is weaker than its default, 1/20.": less(target.beta, [1n, 20n]),
      "kappa is weaker than its default, 30.": target.kappa < 30, "tau is weaker than its default, 3.": target.tau < 3 };
    result.warnings.push(...Object.keys(weaker).filter((warning) => weaker[warning]));
    return certificate;
  }

  // 6. The statement: a function of the fields, so that nothing can be stated that is not a field.
  const quoted = (text) => (text.includes("'") ? `"${text.replaceAll('"', '\\"')}"` : `'${text}'`), or = (names) => names.map(quoted).join(" or ");
  const when = (applies, text) => (applies ? text : "");
  const percent = ([n, d]) => { // nine digits behind the point, without zeros at the end
    const digits = String((200n * 10n ** 9n * n + d) / (2n * d)).padStart(10, "0");
    return `${digits.slice(0, -9)}.${digits.slice(-9)}`.replace(/\.?0+$/, "") + " %";
  };
  // The limits of one question in words, of which counts they speak, and what is not protected.
  function claim({ options, secrets, least }, { beta: [n, d], kappa }) {
    const low = percent([n, d]), high = percent([d - n, d]), all = options.map((_, option) => option);
    const names = (members) => or(members.map((option) => options[option]));
    const others = (members) => all.filter((option) => !members.includes(option));
    const find = (set) => secrets.findIndex(({ members }) => same(members, set));
    const few = ({ share: [a, b] }) => a < b && less([b - a, b], [2n * n, d]);
    const above = all.filter((option) => find([option]) >= 0), below = all.filter((option) => find(others([option])) >= 0);
    const own = secrets.filter(({ members }) => members.length > 1 && members.length < all.length - 1);
    const small = least.map(([option, fewest]) => `, nor that 1 to ${comma(fewest - 1)} chose ${names([option])}`).join("");
    const excepted = when(secrets.some(({ share: [a, b] }) => !a || a === b), ", options that nobody or everybody chose excepted");
    if (same([above, below, own.length], [all, all, 0])) {
      const rare = when(secrets.some(few), " (options that few or nearly all chose: within half of what the total leaves)");
      const text = `fewer than ${low} or more than ${high} of any checked group chose an option${rare}${excepted}${small}`;
      return [text, "A count", ""];
    }
    const rare = when(secrets.some((secret) => secret.members.length === 1 && few(secret)),
      " (an option that nearly all chose: more than half of what the total leaves)");
    const sets = own.map(({ members }) => { // a set and its complement are said together
      const paired = find(others(members)) >= 0, second = paired && find(others(members)) < find(members);
      return when(!second, `, nor that more than ${high} chose ${names(members)}${when(paired, ` or that fewer than ${low} did`)}`);
    }).join("");
    const free = others([...above, ...below, ...least.map(([option]) => option)]), none = same(below, all);
    const listed = [...(free.length ? [`that people chose ${names(free)}`] : []), ...(none ? [] : [
      "that nobody chose an option", "that all chose among several",
      `and small counts in groups of ${comma(kappa)} people or more (secrets = "both" asks for the first)`])];
    const text = `more than ${high} of any checked group chose ${same(above, all) ? "one option" : names(above)}${rare}` +
      excepted + sets + when(below.length, `, nor that fewer than ${low} chose ${none ? "an option" : names(below)}`) + small;
    return [text, "A count above 0 of these", when(listed.length, ` Not protected: ${listed.join(", ")}.`)];
  }
  function statement({ onlookers, target, earlier: { cycles, held, net }, questions, noise, slack, unproved, rule }) {
    const { tau } = target, rolls = onlookers.map(({ roll }) => roll), joint = rolls.includes("joint");
    const [s, many] = onlookers.length > 1 ? ["", "s"] : ["s", ""];
    const sizes = rolls.includes("sizes") ? "how many people each group has" : "no sizes of groups";
    const remember = `, and remember${s} the release of ${cycles.map(quoted).join(" and ")} and believe${s} that nobody who stayed changed ` +
      "their answer", knows = (joint ? "how many people there are of every kind" : sizes) +
      when(onlookers.some(({ facts }) => facts), ` and hold${s} facts of their own`) + when(cycles.length, remember);
    const claims = new Map(); // what is said in the same words of several questions is said once
    for (const question of questions) {
      const said = claim(question, target), [, of] = claims.get(canonical(said)) || [said, []];
      claims.set(canonical(said), [said, [...of, question.name]]);
    }
    const said = [...claims.values()], counts = said.map(([[, which]]) => which).sort().pop();
    const limits = said.map(([[text], of]) => when(said.length > 1, `(${of.map(quoted).join(", ")}) `) + text).join("; ");
    const near = tau ? `to an interval no wider than ${tau}` : "exactly", epsilons = noise.map(({ epsilon }) => epsilon);
    const sensitive = [...target.sensitive].flatMap(([axis, names]) => names.map((name) => quoted(`${axis} ${name}`)));
    const more = when(sensitive.length > 10, ` and ${comma(sensitive.length - 10)} more`);
    const most = noise.flatMap(({ posterior }) => posterior).reduce((a, b) => (!a || b.chance >= a.chance ? b : a), null);
    return [
      `The onlooker${many} ${onlookers.map(({ name }) => quoted(name)).join(", ")}, who know${s} ${knows}, cannot infer `,
      `that ${limits}. ${counts} can be inferred ${near}${when(tau, " (in small groups: a quarter of their people)")} `,
      `only for groups of ${comma(target.kappa)} people or more that lie within these limits, as all published groups do.`,...new Set(said.map(([[, , free]]) => free)),
      when(sensitive.length, ` The counts of ${sensitive.slice(0, 10).join("; ")}${more}, which are sensitive, cannot be inferred ${near}.`),
      when(noise.length, ` Noised counts of large groups are close to the true ones (noise of epsilon ${epsilons.join(" and ")}).`),
      when(most, most && " To somebody who takes all counts as equally probable, the probability that " +
        `${quoted(`${most.axis} ${most.group}`)} is beyond a limit is ${most.chance} (the draw of noised groups: ${most.draw}).`),
      when(slack, ` Totals disagree: every published count may be off by ${comma(slack)}.`),
      when(unproved, ` For ${comma(unproved)} counts only fractional tables show it, which is no proof.`), rule === "rerun"
        ? " This holds also for somebody who knows the rule by which groups are merged and axes omitted, and runs the " +
          "program on all other answers that could have led to the same files."
        : " The onlooker of this statement does not know the rule by which groups are merged and axes omitted: what " +
          "somebody can infer who runs the program on other answers was not shown.",
      when(cycles.length, " What the totals of all cycles disclose by themselves is not covered."),
      when(cycles.length && held === "group by group", " Earlier releases were compared group by group, not all together."),
      when(cycles.length && held === "not", " Earlier releases were not held together with this one."),
      when(net, " Between cycles only net changes of the roll are compared: if people of one kind came and others of " + "it left at once, they are not covered."),
      ...questions.flatMap((question) => aboutTotal(question, tau)),
      when(questions.length > 1, " Each question is about the people who answered it, and no table ties answers to " +
        "different questions. Somebody who knows how answers to different questions hang together can infer more."),
      when(joint, " Checked are all combinations of categories that occur, all pairs of columns, the published groups " +
        "and any two of them together. What the total, the roll and facts disclose by themselves does not count."), ].join("");
  }
  function aboutTotal({ name, options, people, secrets }, tau) { // what the total of a question discloses by itself
    const where = when(name, ` (${quoted(name)})`), enough = BigInt(people - Math.min(tau, Math.floor(people / 4)));
    const nobody = options.filter((_, option) => secrets.some(({ members, share }) => same(members, [option]) && !share[0]));
    const sets = secrets.filter(({ members }) => members.length === 1 || options.length - members.length > 1);
    const shown = people <= 2 || sets.some(({ share: [n, d] }) => n * BigInt(people) >= enough * d);
    return [when(nobody.length, ` The total says that nobody chose ${or(nobody)}${where}.`), when(people && shown,
      ` The total alone shows how everybody voted${where}; publishing it is the decision of the office.`)];
  }

  // 7. The proof: witnesses add up to everything that is published, and leave every cell within the limits.
  class Roll { // people by profile
    constructor(name, content) {
      const rows = parseCsv(name, content || new Uint8Array()), held = rows.filter((row) => Number(row.get("people")));
      const good = rows.every((row) => /^[0-9]{1,15}$/.test(row.get("people")) && ![...row.values()].includes(null));
      refuse(!good, `${name}: a row has an empty label, or no number of people`);
      this.axes = rows.length ? [...rows[0].keys()].filter((column) => column !== "people") : [];
      this.people = held.map((row) => Number(row.get("people")));
      this.columns = new Map(this.axes.map((axis) => [axis, held.map((row) => row.get(axis))]));
      refuse(!held.length || this.counted().size < held.length, `${name}: has no people, or a profile twice`);
    }
    column(axis) { refuse(!this.columns.has(axis), `${ROLL}: has no column ${axis}`); return this.columns.get(axis); }
    counted(strip) { // in whatever order the file has its rows and columns
      const axes = [...this.axes].sort(), plain = (text) => (strip ? text.replace(/^'(?='*[=+@-])/, "") : text);
      const line = (i) => canonical(axes.map((axis) => [axis, plain(this.columns.get(axis)[i])]));
      return new Map(this.people.map((people, i) => [line(i), people]));
    }
  }
  class Level { // cells that part the profiles: the cell of every profile, and the people of every cell
    constructor(name, columns, people, more = {}) {
      const numbers = new Map(), first = []; // the first profile of every cell
      this.cellOf = Int32Array.from(people, (_, i) => {
        const key = columns.map((column) => column[i]).join("\0"); // which no label has
        if (!numbers.has(key)) numbers.set(key, first.push(i) - 1);
        return numbers.get(key);
      });
      Object.assign(this, { name, first, count: first.length, inside: new Map(), ...more });
      this.people = this.added(people);
    }
    added(values) {
      const sums = new Float64Array(this.count), cells = this.cellOf;
      for (let i = 0; i < cells.length; i++) sums[cells[i]] += values[i];
      return sums;
    }
    within(other) { // whether each cell lies within one cell of another level
      const whole = this.inside.get(other) || new Uint8Array(this.count).fill(1), known = this.inside.has(other);
      if (!known) this.cellOf.forEach((cell, i) => { whole[cell] &= other.cellOf[this.first[cell]] === other.cellOf[i]; });
      return this.inside.set(other, whole).get(other);
    }
  }
  class Proof { // the witnesses of one question, and the check of every cell
    constructor(question, roll, tables, target) {
      const published = tables.filter((table) => table.printed.has(question.name)), width = question.options.length;
      Object.assign(this, { question, roll, target, tables: published, width, witnesses: [], moves: [], ranges: [] });
      const stated = `the certificate says ${comma(question.people)}`;
      refuse(sum(roll.people) !== question.people, `${ROLL}: has ${comma(sum(roll.people))} people; ${stated}`);
      this.levelsOf = published.map((table) => this.published(table));
      this.facts = [...this.levelsOf]; // levels whose printed counts every witness has; null is anything
    }
    published(table) { // the cells of a published table; a combination that has people and no row is a finding
      const groupOf = table.groupOf.get(this.question.name), held = table.printed.get(this.question.name);
      const columns = table.axes.map((axis, i) => this.roll.column(axis).map((name) => groupOf[i].get(name)));
      const level = new Level(table.name, columns, this.roll.people, { axes: table.axes });
      level.printed = level.first.map((i) => this.question.options.map((_, option) =>
        held.get(`${columns.map((column) => column[i])}|${option}`)));
      const absent = level.printed.some((counts) => counts.includes(undefined));
      refuse(absent, `${table.name}: has no row for a group that has people on the roll`);
      return level;
    }
    addWitness(counts, number) { // a table, given as one list: every option of the first profile, then of the second
      const name = `${WITNESSES}: table ${number}`, { width, question: { options }, roll: { people } } = this;
      const good = isList(counts) && counts.length === people.length * width && counts.every(isCount);
      refuse(!good, `${name}: is not a list of ${comma(people.length * width)} counts`);
      const columns = options.map((_, option) => Float64Array.from(people, (__, i) => counts[i * width + option]));
      const fits = people.every((most, i) => sum(columns.map((column) => column[i])) <= most);
      refuse(!fits, `${name}: has more answers of some profile than the roll has people`);
      for (const level of this.facts) {
        const meets = (option) => (count, cell) => [null, count].includes(level.printed[cell][option]);
        const agree = columns.every((column, option) => level.added(column).every(meets(option)));
        refuse(!agree, `${name}: adds up to other counts than ${level.name}`);
      }
      this.checkRanges(columns, [], name);
      this.witnesses.push(columns);
    }
    bound(stated) { // ranges that a count of every witness lies in
      const kinds = { axis: isText, group: isTexts, option: isCount, least: isInt, most: isInt };
      for (const entry of stated) {
        const { axis, group, ...range } = fields(entry, kinds, `${WITNESSES}: beyond`);
        refuse(range.option >= this.width, "beyond: option: there is none of this number");
        this.ranges.push({ axis, ...range, inside: this.roll.column(axis).map((name) => group.includes(name)) });
      }
    }
    checkRanges(columns, changes, name) {
      for (const { axis, inside, option, least, most } of this.ranges) {
        const steps = changes.filter(([profile, changed]) => changed === option && inside[profile]).map(([, , step]) => step);
        const count = sum(columns[option].filter((_, profile) => inside[profile])) + sum(steps);
        refuse(count < least || count > most, `${name}: a count of ${axis} is not beyond the limit`);
      }
    }
    fix(stated) { // sums that all witnesses share with the first
      for (const entry of stated) {
        const { axis, groups } = fields(entry, { axis: isText, groups: isList }, `${WITNESSES}: fixed`);
        const groupOf = new Map(groups.flatMap((group, i) => expect(group, isTexts, "fixed").map((name) => [name, i])));
        const of = this.roll.column(axis).map((name) => groupOf.get(name));
        const level = new Level(`fixed ${axis}`, [of], this.roll.people);
        const sums = this.witnesses[0].map((column) => level.added(column));
        level.printed = level.first.map((i, cell) => sums.map((each) => (of[i] === undefined ? null : each[cell])));
        this.facts.push(level);
      }
    }
    addMove(stated, number) { // changes of some counts of one witness that leave every printed count as it is
      const name = `${WITNESSES}: move ${number}`, { width, roll: { people } } = this;
      const { from, changes } = fields(stated, { from: isCount, changes: isList }, name), start = this.witnesses[from];
      const isInside = ([profile, option]) => profile >= 0 && profile < people.length && option >= 0 && option < width;
      const good = changes.every((each) => isList(each) && each.length === 3 && each.every(isInt) && isInside(each));
      refuse(!start || !good, `${name}: starts from no table, or is not a list of changes`);
      const steps = new Map(changes.map(([profile, option, step]) => [profile * width + option, step]));
      refuse(steps.size < changes.length, `${name}: names a count twice`);
      for (const [profile] of changes) {
        const counts = start.map((column, option) => column[profile] + (steps.get(profile * width + option) || 0));
        const fits = Math.min(...counts) >= 0 && sum(counts) <= people[profile];
        refuse(!fits, `${name}: leaves a negative count, or more answers than people`);
      }
      for (const level of this.facts) {
        const sums = tally(changes.map(([profile, option, step]) => [level.cellOf[profile] * width + option, step]));
        const kept = [...sums].every(([at, step]) => !step || level.printed[Math.floor(at / width)][at % width] === null);
        refuse(!kept, `${name}: changes a count of ${level.name}`);
      }
      this.checkRanges(start, changes, name);
      this.moves.push([from, changes]);
    }
    *levels(sets) { // full profiles, sets of columns of the roll, published groups, and published groups two by two
      const { people, axes: all } = this.roll, columns = (axes) => axes.map((axis) => this.roll.column(axis));
      yield new Level("full profiles", columns(all), people);
      const every = [...sets, ...pairs(all), ...all.map((axis) => [axis])]; // some columns may be in no table, but are known
      const once = [...new Map(every.map((axes) => [canonical([...axes].sort()), axes])).values()];
      columns([...this.target.sensitive.keys()]);
      for (const axes of once.filter((each) => each.length < Math.max(all.length, 2))) {
        const level = new Level(axes.join(" x "), columns(axes), people);
        const names = this.roll.column(axes[0]), named = (axes.length === 1 && this.target.sensitive.get(axes[0])) || [];
        yield Object.assign(level, { sensitive: level.first.map((profile) => named.includes(names[profile])) });
      }
      const spoken = this.levelsOf.filter(({ axes }) => axes.length), meet = ([a, b]) => a.axes.some((axis) => b.axes.includes(axis));
      yield* spoken;
      for (const [a, b] of pairs(spoken)) if (!meet([a, b])) yield new Level(`${a.name} x ${b.name}, as published`, [a.cellOf, b.cellOf], people);
    }
    checkLevel(level, missing = 0) { // how many counts nothing shows within the limits (docs/certificate.md, section 5)
      const sums = this.witnesses.map((columns) => columns.map((column) => level.added(column)));
      const { kappa, tau } = this.target, everybody = this.question.people;
      for (const { members, share, ceiling } of this.question.secrets) {
        if (!share[0] || share[0] === share[1]) continue;
        const [least, most] = this.range(level, sums, members), total = this.question.total(members);
        for (let cell = 0; cell < level.count; cell++) {
          const n = level.people[cell], near = Math.min(tau, Math.floor(n / 4)), a = least[cell], b = most[cell];
          const limit = Number((BigInt(n) * ceiling[0]) / ceiling[1]);
          const never = level.sensitive !== undefined && level.sensitive[cell], large = n >= kappa && !never;
          if (a <= limit && (b - a > near || (a === 0 && !never) || (large && a + near <= limit))) continue;
          const first = Math.max(total - (everybody - n), 0), last = Math.min(total, n); // by the total and the roll alone
          const known = first > limit || (last - first <= near && (first >= 1 || never));
          if (known && !(large && last <= limit)) continue;
          if (!large || !this.isPrinted(level, cell, members, limit)) missing++;
        }
      }
      for (const [option, fewest] of this.question.least) { // 1 to fewest - 1 may not be known
        const [least, most] = this.range(level, sums, [option]), total = this.question.totals[option];
        const known = (n) => total > everybody - n && Math.min(total, n) < fewest;
        missing += least.filter((a, cell) => a > 0 && most[cell] < fewest && !known(level.people[cell])).length;
      }
      return missing;
    }
    range(level, sums, members) { // per cell the least and the most who chose within a secret
      const merged = (tables, how) => tables.reduce((one, other) => one.map((n, i) => how(n, other[i])));
      const values = sums.map((by) => merged(members.map((option) => by[option]), (a, b) => a + b));
      const [least, most] = [Math.min, Math.max].map((how) => merged([values[0].slice(), ...values], how));
      for (const [from, changes] of this.moves) {
        const own = changes.filter(([, option]) => members.includes(option));
        for (const [cell, step] of tally(own.map(([profile, , n]) => [level.cellOf[profile], n]))) {
          least[cell] = Math.min(least[cell], values[from][cell] + step);
          most[cell] = Math.max(most[cell], values[from][cell] + step);
        }
      }
      return [least, most];
    }
    isPrinted(level, cell, members, limit) { // whether a table prints just this cell, within the limit
      return this.levelsOf.some((published) => {
        const at = published.cellOf[level.first[cell]], counts = members.map((option) => published.printed[at][option]);
        const alike = published.people[at] === level.people[cell] && level.within(published)[cell];
        return alike && !counts.includes(null) && sum(counts) <= limit;
      });
    }
  }
  const AUDITORS = { schema: oneOf(2), kind: oneOf("auditors"), files: isMap, reason: isText, salt: fits(/^[0-9a-f]{64}$/) };
  const HELD = { question: isText, roll: isText, tables: isList, moves: isList, fixed: isList, beyond: isList };
  async function checkAuditors(certificate, auditors, result, pause) {
    const manifest = await checkHashes(auditors, "auditors/", null), { questions, onlookers } = certificate;
    const own = await sha256(auditors.get(MANIFEST)) === certificate.auditors, hasReason = manifest.has("reason");
    refuse(!own, "auditors: is not the folder that the certificate commits to");
    const { reason } = fields(new Map([["reason", ""], ...manifest]), AUDITORS, `auditors/${MANIFEST}`);
    refuse(hasReason === auditors.has(WITNESSES), `auditors/${MANIFEST}: gives a reason beside witnesses, or none without`);
    if (hasReason) return void result.unchecked.push(`the statement: ${reason}.`);
    const { slack, noise, unproved, earlier } = certificate, beyond = slack || noise.length || unproved || earlier.cycles.length;
    refuse(beyond || onlookers.some(({ facts }) => facts), `${WITNESSES}: says nothing about noise, facts, earlier releases or totals that disagree`);
    refuse(onlookers.some(({ roll }) => roll !== "joint"), `${WITNESSES}: an onlooker does not know the joint roll, which it discloses`);
    const carried = fields(parseJson(WITNESSES, auditors.get(WITNESSES)), { schema: oneOf(2), questions: isList }, WITNESSES);
    const whole = (each) => fields(isMap(each) ? new Map([["beyond", []], ...each]) : each, HELD, WITNESSES);
    const byName = new Map(carried.questions.map(whole).map((each) => [each.question, each]));
    const all = carried.questions.length === questions.length && questions.every(({ name }) => byName.has(name));
    refuse(!all, `${WITNESSES}: is about other questions than the certificate`);
    const everybody = new Roll(ROLL, auditors.get(ROLL)).counted();
    for (const question of questions) {
      const held = byName.get(question.name), roll = new Roll(held.roll, auditors.get(held.roll));
      const fewer = held.roll === ROLL || [...roll.counted()].every(([profile, people]) => people <= (everybody.get(profile) || 0));
      refuse(!fewer, `${held.roll}: has people who are not in ${ROLL}`);
      const proof = new Proof(question, roll, certificate.tables, certificate.target);
      refuse(!held.tables.length, `${WITNESSES}: holds no table`);
      proof.bound(held.beyond);
      held.tables.forEach((counts, number) => { proof.addWitness(counts, number); if (!number) proof.fix(held.fixed); });
      held.moves.forEach((move, number) => proof.addMove(move, number));
      for (const level of proof.levels(checkedSets(certificate, proof.tables))) {
        await pause(level.name);
        const missing = proof.checkLevel(level);
        refuse(missing, `${WITNESSES}: does not show ${comma(missing)} counts within the limits (${level.name})`);
        result.cells += level.count * (question.secrets.length + question.least.length);
      }
      Object.assign(result, { tables: result.tables + proof.witnesses.length, moves: result.moves + proof.moves.length });
    }
    result.proved = true;
  }

  // 8. The page: it embeds the rows of all tables as data, and shows the same rows.
  function checkPage(content, tables, result) {
    const text = decoded(PAGE, content), tag = (name) => `<${name}`; // so that this program is no part of what it looks for
    const data = [...text.matchAll(new RegExp(`${tag("script")}[^>]*id="tables"[^>]*>(.*?)</${"script"}>`, "gs"))];
    const wanted = new Map(tables.map((table) => [table.name, table.rows]));
    const embeds = data.length === 1 && same(parseJson(PAGE, new TextEncoder().encode(data[0][1])), wanted);
    refuse(!embeds, `${PAGE}: its block of data holds other numbers than the tables`);
    const found = [...text.matchAll(new RegExp(`${tag("table")}.*?</${"table"}>`, "gs"))];
    const cells = (row) => [...row.matchAll(/<t[dh][^>]*>([^<]*)<\/t[dh]>/g)].map(([, cell]) => cell.replaceAll("\xa0", " "));
    const shown = found.map(([body]) => [...body.matchAll(/<tr.*?<\/tr>/gs)].map(([row]) => cells(row)))
      .filter((rows) => rows.length && same(rows[0].slice(-3), ["option", "count", "status"])).map((rows) => rows.slice(1));
    const escapes = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&#34;", "'": "&#39;", "\xa0": " " };
    const cell = (value) => (isInt(value) ? comma(value) : (value || "").replace(/[&<>"'\xa0]/g, (letter) => escapes[letter]));
    const printed = tables.map((table) => table.rows.slice(0, PAGE_ROWS).map((row) => row.map(cell)));
    refuse(!same(shown, printed), `${PAGE}: shows other numbers than the tables`);
    result.unchecked.push(`what ${PAGE} shows and ${MANIFEST} states beside what the tables and the certificate do.`);
  }

  // 9. The folder, with what the files beside this one check: signatures, suppressed tables, certificates by themselves.
  const beside = {};
  const ALONE_NOTE = "what nobody can infer: that needs safemargin_verify_tables.js and safemargin_verify_intervals.js beside.";
  async function checkFolder(files, auditors, key, roll, pause, more, result) {
    const manifest = await checkHashes(files, "", SIGNATURE), kind = manifest.get("kind");
    const note = (applies, text) => result.unchecked.push(...(applies ? [text] : []));
    const isSigned = key !== null && beside.checkSignature !== undefined && await beside.checkSignature(files, key);
    result.files = manifest.get("files").size;
    note(key !== null && !isSigned, "the signature, and so nothing else either: that needs Ed25519 in the browser, and safemargin_verify_signature.js.");
    note(key === null, "who made the files: without a signature and a key, they agree with each other at most.");
    if (manifest.get("schema") === 1 && isText(kind) && kind !== "release") { // of another command
      const isKnown = kind === "suppressed tables" && files.has(CERTIFICATE);
      if (isKnown && beside.checkFolder) return void (await beside.checkFolder(manifest, files, more, result), result.proved &&= key === null || isSigned);
      return note(true, isKnown ? ALONE_NOTE : `what an onlooker can infer: a folder of kind ${quoted(kind)} has no certificate of a release.`);
    }
    refuse(more.size, "a release is checked as a whole: give its published folder, and no further files");
    const certificate = checkCertificate(checkFiles(files, manifest), files, result);
    checkPage(files.get(PAGE), certificate.tables, result);
    if (auditors !== null) await checkAuditors(certificate, auditors, result, pause);
    if (auditors !== null && roll !== null) {
      const own = new Roll("roll", roll), theirs = new Roll(ROLL, auditors.get(ROLL)).counted();
      refuse(!same(theirs, own.counted()) && !same(theirs, own.counted(true)), "roll: has other people than the one in the folder for auditors");
    }
    note(auditors === null, "the statement: it needs the folder `auditors`, for those who may hold it.");
    note(certificate.rule === "rerun", "that it holds for somebody who knows the rule; `safemargin verify --rerun` runs the rule on every table.");
    note(certificate.figures.length, "that the files of derived figures follow from the tables.");
    note(certificate.noise.length, "how the noise was drawn, and what noised counts disclose.");
    note(certificate.slack, "why totals disagree.");
    note(certificate.earlier.cycles.length, "what earlier releases add, and whether all of them are listed.");
    note(true, "the counts themselves, the roll, and what onlookers know that is not stated.");
    if (key !== null && !isSigned) result.proved = false; // never an all-clear
    result.statement = statement({ ...certificate, rule: "not shown" });
  }
  // Check a published folder, with the folder for auditors if it is at hand; both as Maps of file name to Uint8Array.
  async function check(files, auditors = null, key = null, roll = null, pause = async () => {}, more = new Map()) {
    const counts = { files: 0, tables: 0, moves: 0, cells: 0 }, canHash = globalThis.crypto && globalThis.crypto.subtle;
    const result = { failures: [], unchecked: [], warnings: [], statement: "", proved: false, ...counts };
    try {
      if (canHash) await checkFolder(files, auditors, key, roll, pause, more, result);
      else result.unchecked.push("anything: browsers hash files only for pages that come from a disk or by https.");
    } catch (error) { result.failures.push(worded(error)); }
    return { ...result, outcome: outcomeOf(result) };
  }
  const outcomeOf = ({ failures, proved }) => (failures.length ? "fails" : proved ? "holds" : "not checked");
  const form = "a file does not have the form that docs/certificate.md describes";
  const worded = (error) => (error instanceof Finding ? error.message : `${form} (${error})`);
  const parts = { Finding, refuse, decoded, parseCsv, fields, same, isMap, isList, isText, isBool, isInt, isCount, isTexts, oneOf, quoted, comma, outcomeOf, worded };
  return { check, sha256, parseJson, parseCsv, percent, beside, parts };
})();
if (typeof module !== "undefined") module.exports = safemarginVerify;
