"use strict";
/* Check certificates of intervals in a browser, or with Node, after safemargin_verify.js and safemargin_verify_tables.js.
Section 8 of docs/certificate.md describes the file; safemargin_verify_intervals.py checks the same, and shares no code
with this. A variable is how many people of one profile (a category of every axis) chose one option; a row is what a line
of a file says, the least and the most of a sum of variables; a witness is whole numbers for all variables that satisfy
all rows; a dual is a multiplier per row, which together limit a count, whatever the true table is. All numbers are BigInts,
which have no largest one; fractions are pairs of them. */
((base, beside) => {
  const { Finding, refuse, parseCsv, fields, same, isMap, isList, isText, isTexts, oneOf, quoted, comma } = base.parts;
  const { unread, many, product, range, strip, refuseOthers, hashed } = beside.parts;
  const MOST_PROFILES = 300000, ENDLESS = 2n ** 53n; // stands for no upper end
  const RESERVED = ["option", "count", "people", "lower", "upper", "status"], ROLES = ["table", "roll", "fact"];
  const VERDICT_RULE = "A cell is contained if its whole interval lies within the limits and it has at least kappa people. Otherwise it "
    + "is disclosed if its interval lies wholly outside the limits or is no wider than tau (in a small cell: than a quarter of its people), "
    + "and open if not. The limits are beta and 1 - beta of the people of the cell; with three or more options never more than half of what "
    + "the total leaves. Where the people of a cell are not known, only the width counts.";
  const isBig = (value) => typeof value === "bigint", isBigCount = (value) => isBig(value) && value >= 0n;
  const isNull = (value) => value === null, either = (...kinds) => (value) => kinds.some((kind) => kind(value)), anything = () => true;
  const isReal = (value) => value !== null && typeof value === "object" && "real" in value;
  const isPairs = (value) => isList(value) && value.every((pair) => isList(pair) && pair.length === 2 && pair.every(isText));
  const add = (values) => values.reduce((all, value) => all + value, 0n);
  const smaller = (a, b) => (a < b ? a : b), larger = (a, b) => (a > b ? a : b);
  const down = (a, b) => (a >= 0n || a % b === 0n ? a / b : a / b - 1n), up = (a, b) => -down(-a, b); // a / b, as an integer
  const byCharacter = (one, other) => { // the order of characters, which that of their halves in JavaScript is not
    const [a, b] = [[...one], [...other]].map((text) => text.map((letter) => letter.codePointAt(0)));
    const at = a.findIndex((letter, place) => letter !== b[place]);
    return at < 0 ? a.length - b.length : at >= b.length ? 1 : a[at] - b[at];
  };
  const fraction = (n, d = 1n) => (d < 0n ? [-n, -d] : [n, d]), less = ([a, b], [c, d]) => a * d < c * b;
  const least = (one, other) => (less(one, other) ? one : other), minus = ([a, b], [c, d]) => fraction(a * d - c * b, b * d);

  // 1. Texts: the seal, and labels that look the same
  function realText(value) { // a number with a point, as short as it can be and as Python writes it
    if (!Number.isFinite(value)) return value > 0 ? "Infinity" : "-Infinity";
    const [digits, exponent] = value.toExponential().split("e").map((part, at) => (at ? Number(part) : part));
    if (exponent < -4 || exponent >= 16) return `${digits}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
    const text = String(value), plain = Object.is(value, -0) ? "-0" : text;
    return plain.includes(".") ? plain : `${plain}.0`;
  }
  function sealed(value) { // JSON with sorted keys, without blanks; letters beyond ASCII are not escaped
    if (isMap(value)) return `{${[...value].sort(([one], [other]) => byCharacter(one, other)).map(([key, each]) => `${sealed(key)}:${sealed(each)}`)}}`;
    if (isList(value)) return `[${value.map(sealed)}]`;
    if (isReal(value)) return realText(value.real);
    refuse(isText(value) && /\p{Surrogate}/u.test(value), "a text has half of a character");
    return isBig(value) ? String(value) : JSON.stringify(value);
  }
  const INVISIBLE = /[\u200b\u200c\u200d\u2060\ufeff\u00ad]/g, NOTHING = /[\u200b\u2060\ufeff\u00ad]/g;
  const BLANKS = /[ \u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\t]+/g;
  const isNumber = (text) => /^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[-+]?[0-9]+)?$|^[-+]?(inf|infinity|nan)$/i.test(text);
  function plainLabel(text) { // without blanks around, and without the apostrophe before a formula
    const inner = text.replace(/^'+/, ""), isFormula = text !== inner && "=+-@".includes(inner[0] || "x") && !isNumber(inner);
    return (isFormula ? text.slice(1) : text).normalize("NFC").replace(NOTHING, "").replace(BLANKS, " ").replace(/^ +| +$/g, "");
  }
  function reader() { // labels that look the same are one, in the spelling of the first
    const spelling = new Map();
    return (text) => {
      const plain = plainLabel(text), key = plain.replace(INVISIBLE, "");
      unread(!plain, "a label is empty.");
      if (!spelling.has(key)) spelling.set(key, plain);
      return spelling.get(key);
    };
  }

  // 2. One file: rows of groups of categories, an option, and the least and the most people
  const FILE = { name: isText, role: oneOf(...ROLES), sha256: anything, count: anything, option: anything, by: anything, skip: isList };
  class Source {
    constructor(stated, content, where) {
      Object.assign(this, { name: stated.name, role: stated.role, stated });
      let rows;
      try { rows = parseCsv(stated.name, content); } catch (error) {
        unread(error instanceof Finding, `${error.message}.`);
        throw error;
      }
      const { count, option, by, skip } = stated, clear = isText(count) && isText(option) && (isNull(by) || (isList(by) && by.every(isText))) && isPairs(skip);
      refuse(!clear, `${where}: it is unclear how ${stated.name} is read`);
      for (const [column, value] of skip) {
        refuse(rows.length && !rows[0].has(column), `${where}: ${stated.name} has no column ${column}`);
        rows = rows.filter((row) => (row.get(column) || "") !== value);
      }
      unread(!rows.length, `${stated.name}: no row is left.`);
      const columns = [...rows[0].keys()], measures = [...new Set([count, "people"])].filter((name) => columns.includes(name));
      refuse(by !== null && !isTexts(by), `${where}: names something twice`);
      this.axes = by || columns.filter((name) => ![...RESERVED, count, option].includes(name));
      const counted = measures.length || columns.includes("lower") || columns.includes("upper");
      unread(measures.length > 1 || !this.axes.every((axis) => columns.includes(axis)) || !counted, `${stated.name}: has other columns than this program reads.`);
      this.isRoll = measures[0] === "people"; // it counts people, not answers
      const answers = reader(), readers = this.axes.map(reader), groups = this.axes.map(() => new Map()), seen = new Set();
      Object.assign(this, { options: [], rows: [] });
      for (const [number, row] of rows.entries()) {
        const codes = this.axes.map((axis, a) => {
          const members = (row.get(axis) || "").split(" | ").map((text) => readers[a](text));
          refuse(new Set(members).size < members.length, `${this.name}: row ${number + 1}: names a category twice`);
          const group = members.sort(byCharacter), key = JSON.stringify(group);
          if (!groups[a].has(key)) groups[a].set(key, { code: groups[a].size, group });
          return groups[a].get(key).code;
        });
        const name = columns.includes(option) ? answers(row.get(option) || "") : null;
        if (name !== null && !this.options.includes(name)) this.options.push(name);
        const chosen = name === null ? -1 : this.options.indexOf(name), key = `${codes}|${chosen}`;
        refuse(seen.has(key), `${this.name}: row ${number + 1}: occurs twice`);
        seen.add(key);
        this.rows.push({ codes, chosen, ...this.ends(row, measures) });
      }
      this.groups = groups.map((each) => [...each.values()].map(({ group }) => group));
    }
    ends(row, measures) { // a noised count says nothing, and a gap that it is not negative
      const noised = row.get("status") === "noised";
      const [count, from, to] = [measures[0] || "", "lower", "upper"].map((name) => this.number(row, name, noised));
      const low = from === null ? 0n : from, high = to === null ? ENDLESS : to;
      refuse(count !== null && (count < low || count > high), `${this.name}: a count lies outside its range`);
      refuse(count === null && low > high, `${this.name}: a range ends before it starts`);
      return count === null ? { low, high } : { low: count, high: count };
    }
    number(row, name, noised) {
      const text = strip(row.get(name) || "");
      if (!text || noised) return null;
      unread(!/^[0-9]{1,10}$/.test(text), `${this.name}: the count ${quoted(text.slice(0, 60))} is not written in digits alone.`);
      return BigInt(text);
    }
    get isExact() { return this.rows.every(({ low, high }) => low === high); }
    get hasGaps() { // whether some combination of the groups that it lists has no row
      const size = this.groups.reduce((all, groups) => all * groups.length, 1);
      const rows = new Map();
      for (const { codes, chosen } of this.rows) rows.set(chosen, (rows.get(chosen) || new Set()).add(String(codes)));
      return [...rows.values()].some((each) => each.size < size);
    }
    layers() { // rows whose cells do not overlap, in as few sets as a greedy pass finds
      if (this.made) return this.made;
      const levels = this.groups.map((groups) => {
        const taken = [];
        return groups.map((group) => {
          let level = taken.findIndex((used) => !group.some((name) => used.has(name)));
          if (level < 0) level = taken.push(new Set()) - 1;
          group.forEach((name) => taken[level].add(name));
          return level;
        });
      });
      const most = levels.map((level) => Math.max(0, ...level) + 1), held = new Map();
      for (const row of this.rows) {
        const key = String(row.codes.map((code, a) => levels[a][code]));
        if (!held.has(key)) held.set(key, []);
        held.get(key).push(row);
      }
      this.made = [];
      for (const chosen of held.size > 1 ? product(most.map(range)) : [[...held.keys()].flatMap((key) => (key ? key.split(",").map(Number) : []))]) {
        const rows = held.get(String(chosen));
        const groupOf = this.groups.map((groups, a) => new Map(groups.flatMap((group, g) => (levels[a][g] === chosen[a] ? group.map((name) => [name, g]) : []))));
        if (rows) this.made.push({ rows, groupOf });
      }
      return this.made;
    }
    listed(a) { return new Set(this.groups[a].flat()); }
    total(seen) { // by option, where all cells are exact and part everybody whom any file lists; else null
      const whole = this.axes.every((axis, a) => { const listed = this.listed(a); return (seen.get(axis) || []).every((name) => listed.has(name)); });
      if (!this.isExact || this.layers().length !== 1 || !whole) return null;
      const sums = new Map((this.options.length ? this.options : [""]).map((name) => [name, 0n]));
      for (const { chosen, low } of this.rows) {
        const name = chosen >= 0 ? this.options[chosen] : "";
        sums.set(name, sums.get(name) + low);
      }
      return sums;
    }
  }
  const categoriesOf = (sources, axis) => [...new Set(sources.flatMap((source) => {
    const at = source.axes.indexOf(axis);
    return at < 0 ? [] : source.groups[at].flat();
  }))];

  // 3. Variables and rows: all that the files say. A variable is `profile * free + option`.
  class System {
    constructor(tables, rolls, facts) {
      const said = [...tables, ...facts], whole = [...tables, ...facts.filter((fact) => !fact.hasGaps)];
      const options = [...new Set(said.flatMap((source) => source.options))], axes = [...new Set(said.flatMap((source) => source.axes))];
      const singles = rolls.filter((roll) => roll.groups.every((groups) => groups.every((group) => group.length === 1)));
      const fits = singles.filter((roll) => roll.isExact && axes.every((axis) => roll.axes.includes(axis)));
      const joint = fits.reduce((best, roll) => (best && best.axes.length >= roll.axes.length ? best : roll), null);
      this.options = options.length ? options : [""];
      this.axes = [...new Set([...axes, ...(joint ? [joint] : rolls).flatMap((roll) => roll.axes)])];
      this.categories = this.axes.map((axis) => categoriesOf([...said, ...rolls], axis));
      this.seen = new Map(this.axes.map((axis, a) => [axis, this.categories[a]]));
      const own = new Map(tables.flatMap((table) => table.axes).map((axis) => [axis, categoriesOf(tables, axis)])), totals = new Map();
      for (const [name, total] of tables.flatMap((table) => [...(table.total(own) || [])])) totals.set(name, [...(totals.get(name) || []), total]);
      this.slack = [...totals.values()].map((each) => each.reduce(larger) - each.reduce(smaller)).reduce(larger, 0n);
      this.checkTotals(whole);
      this.people = null;
      if (joint) {
        const at = this.axes.map((axis) => joint.axes.indexOf(axis)), codes = this.categories.map((each) => new Map(each.map((name, code) => [name, code])));
        const sizes = new Map();
        for (const { codes: groups, low } of joint.rows) {
          const key = JSON.stringify(at.map((place, a) => codes[a].get(joint.groups[place][groups[place]][0])));
          sizes.set(key, (sizes.get(key) || 0n) + low);
        }
        const order = (one, other) => { const a = one.findIndex((code, place) => code !== other[place]); return a < 0 ? 0 : one[a] - other[a]; };
        this.profiles = [...sizes].filter(([, people]) => people).map(([key]) => JSON.parse(key)).sort(order);
        this.people = this.profiles.map((profile) => sizes.get(JSON.stringify(profile)));
      } else {
        unread(this.categories.reduce((all, each) => all * each.length, 1) > MOST_PROFILES, `more than ${comma(MOST_PROFILES)} combinations of categories.`);
        this.profiles = [...product(this.categories.map((each) => range(each.length)))];
      }
      this.chooseForm(whole, rolls);
      this.size = this.profiles.length * this.free;
      this.high = range(this.size).map((variable) => (this.people ? this.people[Math.floor(variable / this.free)] : ENDLESS));
      this.rows = []; // variables, least, most
      tables.forEach((table) => this.add(table, true));
      facts.forEach((fact) => this.add(fact, !fact.hasGaps));
      if (!this.people) rolls.forEach((roll) => this.add(roll, true));
    }
    checkTotals(sources) {
      const first = new Map();
      for (const source of sources) {
        for (const [name, total] of source.total(this.seen) || []) {
          if (!first.has(name)) first.set(name, total);
          const apart = first.get(name) - total;
          refuse(larger(apart, -apart) > 2n * this.slack, `${source.name}: adds up to another total than the files before it`);
        }
      }
    }
    chooseForm(facts, rolls) { // which options are variables: see "Variables" in docs/certificate.md
      const all = ({ options }) => options.length === new Set([...options, ...this.options]).size && this.options.every((name) => options.includes(name));
      const sums = (sources) => sources.map((source) => source.total(this.seen)).filter((total) => total).map((total) => add([...total.values()]));
      const answered = sums(facts.filter(all)), everybody = sums(rolls);
      const covering = (everybody.some((total) => answered.includes(total)) || this.allAnswered(facts, all)) && this.options.length > 1 && this.slack === 0n;
      Object.assign(this, { free: this.options.length, reference: false, unlisted: false });
      if (this.people && covering) Object.assign(this, { free: this.free - 1, reference: true });
      else if (!this.people && rolls.length && !covering) Object.assign(this, { free: this.free + 1, unlisted: true });
    }
    allAnswered(facts, all) { // whether exact tables, each about a part of the people, count as many answers as people there
      if (!this.people || !facts.every(all)) return false;
      const sure = new Set();
      for (const fact of facts.filter((each) => each.isExact && each.layers().length === 1)) {
        const inside = this.appears(fact);
        if (this.sumPeople(inside) === add(fact.rows.map(({ low }) => low))) inside.forEach((profile) => sure.add(profile));
      }
      return sure.size === this.profiles.length;
    }
    appears(source) { // profiles whose categories all appear in a file
      const known = source.axes.map((axis, a) => {
        const at = this.axes.indexOf(axis), listed = source.listed(a);
        return [at, this.categories[at].map((name) => listed.has(name))];
      });
      return range(this.profiles.length).filter((profile) => known.every(([at, inside]) => inside[this.profiles[profile][at]]));
    }
    add(source, leavesOut) { // its rows; a combination that it lists no cell for, although it lists the categories, is empty
      const covered = new Map(), columns = source.axes.map((axis) => this.axes.indexOf(axis));
      for (const { rows, groupOf } of source.layers()) {
        const codesOf = columns.map((at, a) => this.categories[at].map((name) => groupOf[a].get(name) ?? -1)), inside = new Map();
        this.profiles.forEach((codes, profile) => {
          const key = String(columns.map((at, a) => codesOf[a][codes[at]]));
          if (!inside.has(key)) inside.set(key, []);
          inside.get(key).push(profile);
        });
        for (const option of [...new Set(rows.map(({ chosen }) => chosen))].sort((a, b) => a - b)) {
          if (!covered.has(option)) covered.set(option, new Set());
          for (const { codes, low, high } of rows.filter(({ chosen }) => chosen === option)) {
            const profiles = inside.get(String(codes)) || [];
            profiles.forEach((profile) => covered.get(option).add(profile));
            this.addRow(source, option, profiles, low, high);
          }
        }
      }
      if (leavesOut) {
        const appear = this.appears(source);
        for (const [option, filled] of covered) this.leaveOut(source, option, appear.filter((profile) => !filled.has(profile)));
      }
    }
    addRow(source, option, profiles, from, to) {
      const widened = this.slack && !source.isRoll, low = widened ? larger(from - this.slack, 0n) : from, high = widened ? smaller(to + this.slack, ENDLESS) : to;
      const columns = this.columns(source, option), variables = (own) => profiles.flatMap((profile) => own.map((column) => profile * this.free + column));
      if (columns) return void this.rows.push([variables(columns), low, high]);
      const size = this.sumPeople(profiles); // the last option, which is what the others leave; or any option
      refuse(size < low || (size > high && option < 0), `${source.name}: counts other people than the roll`);
      if (option >= 0) this.rows.push([variables(range(this.free)), larger(size - high, 0n), size - low]);
    }
    leaveOut(source, option, empty) {
      const columns = this.columns(source, option), all = (own) => empty.flatMap((profile) => own.map((column) => profile * this.free + column));
      all(columns || []).forEach((variable) => { this.high[variable] = 0n; });
      if (columns || !empty.length) return; // nobody there chose the last option
      const size = this.sumPeople(empty);
      this.rows.push([all(range(this.free)), option >= 0 ? size : size + 1n, size]);
    }
    sumPeople(profiles) { return this.people ? add(profiles.map((profile) => this.people[profile])) : 0n; }
    columns(source, option) { // the options that a row adds; null where it is about the last option, or about all of them
      if (source.isRoll) return range(this.free);
      if (option < 0) return this.reference ? null : range(this.free - this.unlisted);
      const column = this.options.indexOf(source.options[option]);
      return column < this.free - this.unlisted ? [column] : null;
    }
    misses(counts) { // why counts of all variables contradict the files; empty if they do not
      if (counts.some((count, variable) => count < 0n || count > this.high[variable])) return "counts people where nobody can be";
      const sums = this.rows.map(([variables]) => add(variables.map((variable) => counts[variable])));
      const row = this.rows.findIndex(([, low, high], at) => sums[at] < low || sums[at] > high);
      if (row >= 0) return `contradicts row ${row}`;
      const chose = (profile) => add(counts.slice(profile * this.free, (profile + 1) * this.free));
      return this.people && this.people.some((people, profile) => chose(profile) > people) ? "has more answers than people" : "";
    }
  }

  // 4. Every claim, with its duals and witnesses
  const END = { value: either(isBig, isNull), shown_by: isText }, SHOWN = { ...END, value: isBig, dual: isMap, witness: either(isBigCount, isNull) };
  class Intervals {
    constructor(stated, system, sources, where) {
      Object.assign(this, { stated, system, sources, where, text: "", kinds: { proved: 0, outer: 0, search: 0, unlimited: 0 }, outer: [], attained: [] });
      this.rolls = sources.filter(({ role }) => role === "roll");
      this.tables = stated.tables.map((pairs, number) => this.table(pairs, `${where}: table ${number}`));
      const limited = new Set(system.rows.flatMap(([variables, , high]) => (high < ENDLESS ? variables : [])));
      this.endless = new Set(range(system.size).filter((variable) => system.high[variable] >= ENDLESS && !limited.has(variable)));
    }
    table(pairs, where) {
      const counts = range(this.system.size).map(() => 0n);
      const good = isList(pairs) && pairs.every((pair) => isList(pair) && pair.length === 2 && pair.every(isBigCount) && pair[0] < BigInt(counts.length));
      refuse(!good || new Set(pairs.map(([variable]) => variable)).size < pairs.length, `${where}: counts what does not exist, or twice`);
      for (const [variable, count] of pairs) counts[Number(variable)] = count;
      const wrong = this.system.misses(counts);
      refuse(wrong, `${where}: ${wrong}`);
      return counts;
    }
    check() { // every cell of the target and every option is claimed once, with both ends
      const { system, where, stated } = this, axes = stated.target, hasOptions = !same(system.options, [""]);
      refuse(!isTexts(axes) || !axes.every((axis) => system.axes.includes(axis)) || (system.axes.length && !axes.length), `${where}: target: names no axis`);
      const at = axes.map((axis) => system.axes.indexOf(axis)), cells = new Map(), claimed = new Set();
      system.profiles.forEach((codes, profile) => {
        const key = JSON.stringify(at.map((a) => system.categories[a][codes[a]]));
        if (!cells.has(key)) cells.set(key, []);
        cells.get(key).push(profile);
      });
      this.claims = stated.cells.map((each) => {
        const claim = fields(each, { cell: isMap, lower: isMap, upper: isMap, ...(hasOptions ? { option: isText } : {}) }, `${where}: a cell`);
        const names = axes.map((axis) => claim.cell.get(axis)), key = JSON.stringify(names), option = system.options.indexOf(hasOptions ? claim.option : "");
        const known = names.every(isText) && claim.cell.size === axes.length && cells.has(key) && option >= 0 && !claimed.has(`${option}${key}`);
        refuse(!known, `${where}: ${key}: there is no such cell, or it is claimed twice`);
        claimed.add(`${option}${key}`);
        this.claim(claim, cells.get(key), option, `${where}: ${key}`);
        return { key, option, claim };
      });
      const missing = cells.size * system.options.length - claimed.size;
      refuse(missing, `${where}: nothing is claimed about ${many(missing, "count")}`);
      this.peopleOf = new Map([...cells].map(([key, inside]) => [key, this.people(axes, JSON.parse(key), inside)]));
    }
    claim(claim, profiles, option, place) { // one count as `offset + sign * (sum of variables)`, and both of its ends
      const { system } = this, { free } = system, isOwn = option < free && !(system.reference && option === system.options.length - 1);
      const own = profiles.flatMap((p) => (isOwn ? [p * free + option] : range(free).map((column) => p * free + column)));
      const offset = isOwn ? 0n : system.sumPeople(profiles), sign = isOwn ? 1n : -1n;
      const values = this.tables.map((table) => offset + sign * add(own.map((variable) => table[variable])));
      const ends = [["lower", -sign], ["upper", sign]].map(([key, way]) => {
        const end = claim[key], by = end.get("shown_by"), where = `${place}: ${key}`, isUpper = key === "upper";
        if (by === "no limit") {
          const fits = fields(end, END, where).value === null && isUpper && sign > 0n && own.some((variable) => this.endless.has(variable));
          refuse(!fits, `${where}: is not without limit`);
          this.kinds.unlimited++;
          return ENDLESS;
        }
        refuse(by !== "dual" && by !== "search", `${where}: is no proof`);
        const isSearch = by === "search", { value, outer = value, witness, dual } = fields(end, { ...SHOWN, ...(isSearch ? { outer: isBig } : {}) }, where);
        const isMet = witness !== null && witness < BigInt(values.length) && values[Number(witness)] === value;
        refuse(witness !== null && !isMet, `${where}: table ${witness} does not attain it`);
        refuse(isSearch && witness === null, `${where}: neither a dual nor a witness shows it`);
        const limit = this.limit(dual, own, way, where), shown = isUpper ? offset + limit : offset - limit;
        const beyond = isUpper ? shown > outer || outer < value : shown < outer || outer > value;
        refuse(beyond, `${where}: ${value} is claimed, ${shown} is what its dual gives`);
        this.kinds[isSearch ? "search" : witness !== null ? "proved" : "outer"]++;
        return outer;
      });
      if (claim.upper.get("value") === null) values.push(ENDLESS);
      this.outer.push(ends);
      this.attained.push(values.length ? [values.reduce(smaller), values.reduce(larger)] : null);
    }
    // The integer that `way * (sum of variables)` cannot exceed: multiply row i by y, and the people of profile p by z >= 0,
    // and add; times the denominator that is the sum, plus a rest in which every variable is at most what the files say.
    limit(dual, own, way, where) {
      const { system } = this, { denominator: times, rows, people = new Map() } = fields(dual, { denominator: isBig, rows: isMap, ...(dual.has("people") ? { people: isMap } : {}) }, `${where}: dual`);
      refuse(times < 1n, `${where}: a denominator is not positive`);
      const rest = new Map();
      let value = 0n;
      const change = (variable, number) => rest.set(variable, (rest.get(variable) || 0n) + number);
      own.forEach((variable) => change(variable, way * times));
      for (const [row, number] of this.numbers(rows, system.rows.length, where)) {
        const [variables, low, high] = system.rows[row];
        refuse(number > 0n && high >= ENDLESS, `${where}: uses a limit that row ${row} does not have`);
        value += number * (number > 0n ? high : low);
        variables.forEach((variable) => change(variable, -number));
      }
      for (const [profile, number] of this.numbers(people, system.people ? system.people.length : 0, where)) {
        refuse(number < 0n, `${where}: uses people in a way that is not allowed`);
        value += number * system.people[profile];
        range(system.free).forEach((column) => change(profile * system.free + column, -number));
      }
      for (const [variable, number] of rest) {
        refuse(number > 0n && system.high[variable] >= ENDLESS, `${where}: its dual leaves a count without limit`);
        if (number > 0n) value += number * system.high[variable];
      }
      return down(value, times);
    }
    numbers(stated, most, where) { // multipliers by the number of a row or profile, which is written in one way only
      const good = [...stated].every(([key, number]) => /^(0|[1-9][0-9]{0,14})$/.test(key) && Number(key) < most && isBig(number));
      refuse(!good, `${where}: has a multiplier of a row or profile that does not exist`);
      return [...stated].map(([key, number]) => [Number(key), number]);
    }
    people(axes, names, profiles) { // how many people a cell has, where a roll states it; else null
      if (this.system.people) return this.system.sumPeople(profiles);
      const roll = this.rolls.find((each) => axes.every((axis) => each.axes.includes(axis)) && each.total(this.system.seen));
      if (!roll) return null;
      const at = axes.map((axis) => roll.axes.indexOf(axis));
      if (at.some((a) => roll.groups[a].some((group) => group.length > 1))) return null;
      return add(roll.rows.filter(({ codes }) => at.every((a, place) => roll.groups[a][codes[a]][0] === names[place])).map(({ low }) => low));
    }
    verdicts() { // whether the cells that are called contained or open are shown to be; what is not checked, in words
      const where = `${this.where}: verdict`, verdict = fields(this.stated.verdict, { rule: isText, target: isMap, counts: isMap }, where), { target } = verdict;
      refuse(verdict.rule !== VERDICT_RULE, `${where}: states another rule`);
      const isRead = [...target.keys()].every(oneOf("beta", "kappa", "tau", "epsilon_max", "guard"));
      if (!isRead) return "verdicts: their target has secrets or sensitive categories, which this program does not read.";
      const number = (key, missing) => (target.has(key) ? target.get(key) : missing), positive = fraction(0n), half = fraction(1n, 2n);
      const read = number("beta"), exact = isReal(read) && Number.isFinite(read.real) ? exactly(read.real) : isBig(read) ? fraction(read) : fraction(-1n);
      const beta = simplest(exact, 10n ** 9n), kappa = number("kappa"), tau = number("tau");
      refuse(!isBig(kappa) || !isBig(tau) || !less(positive, beta) || !less(beta, half) || kappa < 1n || tau < 0n, `${where}: its target is impossible`);
      const real = (value) => (isReal(value) && Number.isFinite(value.real) ? exactly(value.real) : isBig(value) ? fraction(value) : null);
      const more = real(number("epsilon_max", 1n)), guard = number("guard", null) === null ? half : real(target.get("guard"));
      const good = more && less(positive, more) && guard && less(positive, guard) && (number("guard", null) === null || less(guard, minus(half, beta)));
      refuse(!good, `${where}: its target is impossible`);
      const limits = new Limits(this, beta, kappa, tau), tally = new Map(["contained", "open", "disclosed"].map((said) => [said, 0n]));
      this.claims.forEach(({ key, option, claim }, at) => {
        const people = this.peopleOf.get(key), top = claim.upper.get("value"), stated = [claim.lower.get("value"), top === null ? ENDLESS : top];
        const said = limits.verdict(option, people, ...stated), attained = this.attained[at];
        tally.set(said, tally.get(said) + 1n);
        const proved = limits.verdict(option, people, ...this.outer[at]) === "contained"; // tables show that a cell is open,
        const isOpen = attained !== null && limits.verdict(option, people, ...attained, true) === "open"; // never that it is contained
        refuse(said !== "disclosed" && !proved && !isOpen, `${where}: ${key}: is called ${said}, but no dual and no witness shows it`);
      });
      refuse(!same(verdict.counts, tally), `${where}: counts other verdicts than the limits give`);
      const [contained, open, disclosed] = [...tally.values()].map(comma), share = realText(Number((Number(beta[0]) / Number(beta[1])).toPrecision(6)));
      this.text = ` Of these counts ${contained} are contained, ${open} open, ${disclosed} disclosed (beta ${share}, kappa ${comma(kappa)}, tau ${comma(tau)}).`;
      return "";
    }
  }
  function exactly(value) { // the fraction that a number with a point is
    let n = value, d = 1n;
    while (!Number.isInteger(n)) { n *= 2; d *= 2n; }
    return fraction(BigInt(n), d);
  }
  function simplest([n, d], most) { // the nearest fraction with no larger denominator (continued fractions)
    if (n < 0n || d <= most) return [n, d];
    let [p0, q0, p1, q1, a, b] = [0n, 1n, 1n, 0n, n, d];
    for (;;) {
      const whole = a / b, q2 = q0 + whole * q1;
      if (q2 > most) break;
      [p0, q0, p1, q1, a, b] = [p1, q1, p0 + whole * p1, q2, b, a - whole * b];
    }
    const k = (most - q0) / q1, one = [p0 + k * p1, q0 + k * q1], far = ([p, q]) => { const [x, y] = minus([p, q], [n, d]); return [x < 0n ? -x : x, y]; };
    return less(far(one), far([p1, q1])) ? one : [p1, q1];
  }
  // What may be inferred of a count of every option: shares between a floor and a ceiling in groups of kappa people, and
  // nothing to an interval no wider than tau.
  class Limits {
    constructor(claims, beta, kappa, tau) {
      const { system, sources, rolls } = claims, totals = new Map(system.options.map((name) => [name, 0n]));
      for (const source of [...sources].reverse().filter(({ role }) => role !== "roll")) { // the first file that states a total counts
        for (const [name, total] of source.total(system.seen) || []) if (totals.has(name)) totals.set(name, total);
      }
      const answers = add([...totals.values()]), people = rolls.map((roll) => roll.total(system.seen)).filter((sums) => sums).map((sums) => add([...sums.values()]));
      const everybody = people.length ? people.reduce(larger) : answers, two = totals.size <= 2 || answers !== everybody, one = fraction(1n);
      this.ends = [...totals.values()].map((total) => { // with three options or more no share may be too large only
        const all = larger(everybody, 1n), share = fraction(total, all), floor = two ? least(beta, fraction(total, 2n * all)) : fraction(-1n);
        const [n, d] = minus(one, share), ceiling = minus(one, least(beta, fraction(n, 2n * d)));
        return [floor, ceiling, two, total === 0n || total === all];
      });
      Object.assign(this, { kappa, tau });
    }
    verdict(option, people, low, high, never = false) {
      if (people === null) return high - low <= this.tau ? "disclosed" : "open";
      const [floor, ceiling, hasFloor, unchosen] = this.ends[option];
      const fewest = up(people * floor[0], floor[1]), most = down(people * ceiling[0], ceiling[1]), near = people ? smaller(this.tau, people / 4n) : -1n;
      const large = people >= this.kappa && !never;
      if ((low >= fewest && high <= most && large) || unchosen) return "contained";
      const some = !(high <= most && large) && low >= 1n, few = !(low >= fewest && large) && high < people;
      return high < fewest || low > most || (high - low <= near && (some || (hasFloor && few))) ? "disclosed" : "open";
    }
  }

  // 5. The certificate
  const TOP = { schema: (value) => value === 1n, kind: oneOf("bounds"), files: isList, axes: isList, categories: isList, options: isList, slack: isBig, rows: isBig, variables: isBig, target: isList, tables: isList, cells: isList, sha256: isText };
  async function check(document, files, where, result) {
    const stated = fields(document, { ...TOP, ...(document.has("verdict") ? { verdict: isMap } : {}) }, where);
    const text = sealed(new Map([...document].filter(([key]) => key !== "sha256")));
    refuse(await base.sha256(new TextEncoder().encode(text)) !== stated.sha256, `${where}: it was changed after it was written: its seal does not match`);
    refuse(!stated.files.every((entry) => isMap(entry) && isText(entry.get("name"))), `${where}: files: is of another kind`);
    refuseOthers(files, stated.files.map((entry) => entry.get("name")));
    const sources = [];
    for (const entry of stated.files) {
      const said = fields(entry, { ...FILE, role: anything, skip: anything }, `${where}: files`);
      await hashed(files, said.name, said.sha256, where);
      unread(!said.name.endsWith(".csv"), `${said.name}: is no CSV file.`);
      refuse(!ROLES.includes(said.role), `${where}: files: is no role`);
      sources.push(new Source(said, files.get(said.name), `${where}: files`));
    }
    const [tables, rolls, facts] = ROLES.map((role) => sources.filter((source) => source.role === role));
    refuse(!tables.length && !facts.length, `${where}: is about no table`);
    const system = new System(tables, rolls, facts), counted = [system.slack, BigInt(system.rows.length), BigInt(system.size)];
    const shape = [system.axes, system.categories, system.options, ...counted], said = [stated.axes, stated.categories, stated.options, stated.slack, stated.rows, stated.variables];
    refuse(!same(shape, said), `${where}: has other axes, categories, options, slack or rows than the files`);
    const claims = new Intervals(stated, system, [...tables, ...facts, ...rolls], where);
    claims.check();
    const notes = [stated.verdict ? claims.verdicts() : "verdicts: the certificate states none."], others = system.axes.filter((axis) => !stated.target.includes(axis));
    if (others.length) notes.push(`cells by ${others.join(", ")}: its claims are about cells by ${stated.target.join(", ")}.`);
    for (const { stated: { name, skip } } of sources) notes.push(...skip.map(([column, value]) => `${name}: rows with ${column} = ${quoted(value)}, which the certificate omits.`));
    const { kinds } = claims;
    if (kinds.search) notes.push(`${many(kinds.search, "end")}: a search closed the last gap, which the duals leave open.`);
    notes.push("the printed counts and the roll themselves, and what onlookers know beside these files.");
    result.unchecked.push(...notes.filter((note) => note));
    Object.assign(result, { files: sources.length, tables: claims.tables.length, cells: claims.claims.length, proved: !kinds.search, statement: statement(stated, claims) });
  }
  function statement(stated, claims) { // what was checked, in words: who knows what, and what follows
    const { kinds, system } = claims, plain = { option: "option", by: null };
    const way = ({ stated: entry, name }) => {
      const keys = { count: entry.role === "roll" ? "people" : "count", ...plain }, odd = Object.keys(keys).filter((key) => !same(entry[key], keys[key]));
      if (entry.skip.length) odd.push("skip");
      return quoted(name) + (odd.length ? ` (read with ${odd.map((key) => `${key} ${shown(entry[key])}`).join(", ")})` : "");
    };
    const shown = (value) => (isList(value) ? `[${value.map(shown).join(", ")}]` : isText(value) ? quoted(value) : "none");
    const words = [["table", "sees"], ["roll", "knows the roll"], ["fact", "knows the facts"]].map(([role, word]) => {
      const named = claims.sources.filter((source) => source.role === role).map(way).join(", ");
      return named && `${word} ${named}`;
    });
    return `For somebody who ${words.filter((word) => word).join(" and ")}, each of ${many(claims.claims.length, "count")} by ${stated.target.join(" x ") || "everybody"} lies within its interval. `
      + `Of the ends, ${comma(kinds.proved)} are attained by a table that fits`
      + (kinds.outer ? `, ${comma(kinds.outer)} are limits that may not be attained` : "")
      + (kinds.unlimited ? `, and nothing limits ${comma(kinds.unlimited)}` : "")
      + (system.slack ? `. Every count may be off by ${comma(system.slack)}, since totals disagree` : "") + `.${claims.text}`;
  }
  Object.assign(beside, { checkIntervals: check });
  if (typeof module !== "undefined") module.exports = beside;
})(typeof module !== "undefined" ? require("./safemargin_verify.js") : safemarginVerify, typeof module !== "undefined" ? require("./safemargin_verify_tables.js") : safemarginTables);
