"use strict";
/* Check certificates of suppression in a browser, or with Node, after safemargin_verify.js. Section 7 of
docs/certificate.md describes the files; safemargin_verify_tables.py checks the same, and shares no code with this.
A cell is one category or sum, or none, of every axis; a gap is a cell that is suppressed, and holds one person at least;
a witness is whole numbers for all cells that add up and have every printed count; a change leads from the first witness
to another. A suppressed count with values more than tau apart in two witnesses cannot be inferred. */
const safemarginTables = ((base) => {
  const { Finding, refuse, parseCsv, fields, same, isMap, isList, isText, isBool, isInt, isCount, isTexts, oneOf, quoted, comma } = base.parts;
  const { sha256, parseJson, beside } = base;
  const [PUBLIC, OFFICE, CERTIFICATE] = ["suppressed tables", "safemargin-pattern", "certificate.json"];
  const MOST_COALITIONS = 20000, MOST_CELLS = 3000000;
  class NotRead extends Error {} // what is there, and cannot be checked by this program: no finding, and no proof
  const unread = (wrong, text) => { if (wrong) throw new NotRead(text); };
  const many = (count, noun) => `${comma(count)} ${noun}${count === 1 ? "" : "s"}`;
  const isInts = (value) => isList(value) && value.every(isInt), isCounts = (value) => isInts(value) && value.every(isCount);
  const isMaps = (value) => isList(value) && value.every(isMap), isNull = (value) => value === null;
  const isPair = (value) => isList(value) && value.length === 2;
  const strip = (text) => text.replace(/^[\s\x1c-\x1f\x85]+|[\s\x1c-\x1f\x85]+$/g, "");
  const range = (size) => Array.from({ length: size }, (_, place) => place);
  function* product(lists, from = 0) { // every choice of one of each, the last one fastest
    if (from === lists.length) { yield []; return; }
    for (const one of lists[from]) for (const rest of product(lists, from + 1)) yield [one, ...rest];
  }
  // Whether numbers add up to 0; beyond 2^53, where sums of floats are rounded, with integers of any size.
  const isZero = (steps) => (steps.reduce((all, step) => all + Math.abs(step), 0) < 2 ** 53
    ? steps.reduce((all, step) => all + step, 0) === 0 : steps.reduce((all, step) => all + BigInt(step), 0n) === 0n);

  // 1. Files
  function refuseOthers(files, names) { // whoever reads files that a certificate does not speak about knows more than it says
    const known = new Set([...names, "manifest.json", "manifest.json.minisig", CERTIFICATE]);
    const odd = [...files.keys()].filter((name) => !known.has(name)).sort();
    refuse(odd.length, `${odd[0]}: the certificate does not speak about this file`);
  }
  async function hashed(files, name, mark, whose) {
    unread(!files.has(name), `${name}: is not here, and the certificate speaks about it; give the file, too.`);
    refuse(await sha256(files.get(name)) !== mark, `${name}: its hash is not that of ${whose}`);
  }

  // 2. Axes and tables
  class Axis { // the categories of one axis and their sums; node 0 is the sum over all of them
    constructor(stated, place) {
      const { name, labels, splits } = fields(stated, { name: isText, labels: isTexts, splits: isList }, place);
      const where = `${place}: ${name}`;
      for (const split of splits) {
        refuse(!isPair(split) || !isCount(split[0]) || !isCounts(split[1]), `${where}: a sum is not [whole, parts]`);
        const [whole, parts] = split, all = new Set([whole, ...parts]), beyond = [...all].some((node) => node >= labels.length);
        refuse(!parts.length || beyond || all.size <= parts.length, `${where}: a sum has no parts, a part twice, or one that does not exist`);
      }
      const wholes = new Set(splits.map(([whole]) => whole));
      Object.assign(this, { name, labels, splits, leaves: range(labels.length).filter((node) => !wholes.has(node)) });
      this.partsOf = labels.map(() => []);
      splits.forEach(([whole, parts]) => this.partsOf[whole].push(...parts));
      this.below = labels.map((label, node) => { // a node and all that it is the sum of; none may be below itself
        const found = new Set([node]);
        for (const at of found) {
          refuse(this.partsOf[at].includes(node), `${where}: ${quoted(label)} is a part of itself`);
          this.partsOf[at].forEach((part) => found.add(part));
        }
        return found;
      });
      refuse(!labels.length || this.below[0].size < labels.length, `${where}: a category is part of no sum`);
      this.leafLabels = this.leaves.map((leaf) => labels[leaf]).sort();
    }
  }
  class PrintedTable { // its axes, the numbers of its cells in the order of `product`, and what its file prints
    constructor(stated, where) {
      const { file, earlier, axes } = fields(stated, { file: isText, earlier: isBool, axes: isList }, where);
      Object.assign(this, { file, earlier, axes: axes.map((axis) => new Axis(axis, where)) });
      const once = new Set(this.axes.map(({ name }) => name)).size === axes.length;
      refuse(!axes.length || !once, `${where}: ${file}: has no axes, or one twice`);
      this.shape = this.axes.map(({ labels }) => labels.length);
      this.size = this.shape.reduce((size, length) => size * length, 1);
      unread(this.size > MOST_CELLS, `${file}: has more than ${comma(MOST_CELLS)} cells.`);
    }
    place(nodes) { return nodes.reduce((place, node, axis) => place * this.shape[axis] + node, 0); }
    inner() { return [...product(this.axes.map(({ leaves }) => leaves))].map((nodes) => this.place(nodes)); }
    keys() { // every cell by name
      const named = this.axes.map(({ name, labels }) => labels.map((label, node) => (node ? [[name, label]] : [])));
      return [...product(named)].map((pairs) => keyOf(pairs.flat()));
    }
    read(content) { // count by place, null for a gap; a new table prints every cell, an earlier one what it lists
      const { file, earlier } = this, names = this.axes.map(({ name }) => name);
      let rows;
      try { rows = parseCsv(file, content); } catch (error) {
        if (earlier && error instanceof Finding) throw new NotRead(error.message);
        throw error;
      }
      const columns = rows.length ? [...rows[0].keys()].sort() : [], plain = earlier && same(columns, [...new Set([...names, "count"])].sort());
      const odd = !plain && !same(columns, [...new Set([...names, "count", "status"])].sort());
      unread(odd && earlier, `${file}: has other columns than its axes, count and status.`);
      refuse(odd, `${file}: has other columns than its axes, count and status`);
      const numbers = this.axes.map(({ labels }) => new Map(labels.map((label, node) => [label, node])));
      const found = new Map();
      for (const row of rows) {
        const nodes = names.map((name, axis) => numbers[axis].get(strip(row.get(name) || "")));
        refuse(nodes.includes(undefined), `${file}: has a category that the certificate does not list`);
        const place = this.place(nodes), count = row.get("count") || "", status = plain ? "exact" : row.get("status");
        refuse(found.has(place), `${file}: prints a cell twice`);
        const strange = !["exact", "suppressed"].includes(status) || !/^([0-9]{1,15})?$/.test(count);
        unread(strange && earlier, `${file}: has a status or a count of another program.`);
        refuse(strange, `${file}: a status or a count is not one that is written here`);
        refuse((status === "suppressed") !== (count === ""), `${file}: a gap has a count, or a count is missing`);
        found.set(place, count === "" ? null : Number(count));
      }
      const inner = earlier ? this.inner() : [];
      if (inner.some((place) => found.has(place))) inner.forEach((place) => { if (!found.has(place)) found.set(place, 0); });
      refuse(!earlier && found.size < this.size, `${file}: does not print every cell`);
      return found;
    }
    * sums() { // every sum: the number of a cell, and those of its parts
      for (const [a, { splits }] of this.axes.entries()) {
        const step = this.shape.slice(a + 1).reduce((size, length) => size * length, 1);
        const starts = [...product(this.shape.map((size, b) => range(b === a ? 1 : size)))].map((nodes) => this.place(nodes));
        for (const [whole, parts] of splits) {
          for (const start of starts) yield [whole, ...parts].map((node) => this.ids[start + step * node]);
        }
      }
    }
  }
  const keyOf = (pairs) => JSON.stringify(pairs.map((pair) => JSON.stringify(pair)).sort());

  // 3. The pattern: the first witness, and the changes that lead to others
  const TABLES = { files: isMap, tables: isList, suppressed: isMaps, people: isMaps, counts: isCounts, changes: isList, known_before: isMaps, tau: isCount };
  class Pattern {
    constructor(stated, where) {
      Object.assign(this, { stated, where, tables: stated.tables.map((table) => new PrintedTable(table, where)) });
      this.fresh = this.tables.filter(({ earlier }) => !earlier);
      refuse(!this.fresh.length, `${where}: is about no table but earlier ones`);
      refuse(this.tables.slice(0, this.fresh.length).some(({ earlier }) => earlier), `${where}: tables: earlier ones must come last`);
      refuse(!same([...stated.files.keys()], this.tables.map(({ file }) => file)), `${where}: files: are not those of its tables`);
    }
    async read(files) {
      const { stated, where } = this;
      for (const [name, mark] of stated.files) await hashed(files, name, mark, "the certificate");
      this.number = new Map();
      for (const table of this.tables) {
        table.ids = table.keys().map((key) => {
          if (!this.number.has(key)) this.number.set(key, this.number.size);
          return this.number.get(key);
        });
      }
      Object.assign(this, { size: this.number.size, printed: new Map(), gaps: new Set(), newGaps: new Set(), oldGaps: new Set(), printedBefore: new Set() });
      for (const table of this.tables) {
        for (const [place, count] of table.read(files.get(table.file))) {
          const cell = table.ids[place];
          if (count === null) [this.gaps, table.earlier ? this.oldGaps : this.newGaps].forEach((set) => set.add(cell));
          else {
            refuse(this.printed.has(cell) && this.printed.get(cell) !== count, `${table.file}: prints another count than the files before it`);
            this.printed.set(cell, count);
            if (table.earlier) this.printedBefore.add(cell);
          }
        }
      }
      this.hidden = stated.suppressed.map((cell) => this.find(cell));
      this.knownBefore = new Set(stated.known_before.map((cell) => this.find(cell)));
      this.people = stated.people.map((who) => this.combination(who));
      const hidden = new Set(this.hidden), open = [...this.gaps].filter((cell) => !this.printed.has(cell));
      const others = open.some((cell) => !hidden.has(cell)) || this.hidden.some((cell) => this.printed.has(cell)) || hidden.size < this.hidden.length;
      refuse(others, `${where}: other cells are suppressed than it says`);
      const wrong = [...this.newGaps].some((cell) => this.printed.has(cell) || this.knownBefore.has(cell));
      refuse(wrong, `${where}: a count that is suppressed is printed elsewhere, or said to be known`);
      this.claimed = open.filter((cell) => !this.knownBefore.has(cell)).sort((a, b) => a - b);
      this.addUp();
    }
    find(cell) { // the number of a cell that is given by its labels
      const found = this.number.get(keyOf([...cell]));
      refuse(found === undefined, `${this.where}: there is no cell ${JSON.stringify([...cell])}`);
      return found;
    }
    combination(who) { // the inner cell of every table that people of this combination of categories are in
      const axes = new Set(this.tables.flatMap((table) => table.axes.map(({ name }) => name)));
      const cells = this.tables.map((table) => table.ids[table.place(table.axes.map((axis) => {
        const of = axis.leaves.filter((leaf) => this.labelsBelow(axis, leaf).has(who.get(axis.name)));
        refuse(of.length !== 1, `${this.where}: people: somebody is in no category of ${table.file}`);
        return of[0];
      }))]);
      refuse(who.size !== axes.size || [...who.keys()].some((name) => !axes.has(name)), `${this.where}: people: has other axes`);
      return cells;
    }
    labelsBelow(axis, node) { // a category of one table and all finer ones of other tables inside it
      this.belowOf = this.belowOf || new Map();
      const key = keyOf([[axis.name, axis.labels[node]]]);
      if (!this.belowOf.has(key)) {
        const others = this.tables.flatMap(({ axes }) => axes.filter(({ name }) => name === axis.name));
        const found = new Set([axis.labels[node]]);
        for (const label of found) {
          for (const { labels, partsOf } of others) {
            const at = labels.indexOf(label);
            if (at > 0) partsOf[at].forEach((part) => found.add(labels[part]));
          }
        }
        this.belowOf.set(key, found);
      }
      return this.belowOf.get(key);
    }
    addUp() { // counts of every cell and combination of people satisfy all sums, and so does every change
      const { where, size, people } = this, given = this.stated.counts;
      this.places = [...this.hidden, ...people.map((_, number) => size + number)];
      refuse(given.length !== this.places.length, `${where}: counts: are more or fewer than hidden cells and people`);
      this.counts = [...range(size).map((cell) => this.printed.get(cell) || 0), ...people.map(() => 0)];
      this.places.forEach((place, at) => { this.counts[place] = given[at]; });
      this.least = new Map([...this.gaps].filter((cell) => !this.printed.has(cell)).map((cell) => [cell, 1])); // zeros are printed
      this.sums = this.tables.flatMap((table) => [...table.sums()]);
      const equations = [...this.sums];
      if (people.length) { // every inner cell holds just the people in it
        const inside = new Map(this.tables.flatMap((table) => table.inner().map((place) => [table.ids[place], []])));
        people.forEach((cells, number) => new Set(cells).forEach((cell) => inside.get(cell).push(size + number)));
        equations.push(...[...inside].map(([cell, parts]) => [cell, ...parts]));
      }
      const rowsOf = this.counts.map(() => []);
      equations.forEach(([whole, ...parts], row) => {
        const total = parts.reduce((all, part) => all + this.counts[part], 0); // none is negative, so no rounding hides a difference
        refuse(this.counts[whole] !== total, `${where}: counts: do not add up`);
        rowsOf[whole].push([row, 1]);
        parts.forEach((part) => rowsOf[part].push([row, -1]));
      });
      for (const [cell, least] of this.least) refuse(this.counts[cell] < least, `${where}: counts: a suppressed count is below 1`);
      this.changes = this.stated.changes.map((change) => {
        const good = isList(change) && change.every((pair) => isInts(pair) && pair.length === 2 && pair[0] >= 0 && pair[0] < this.places.length);
        const steps = new Map(good ? change.map(([place, step]) => [this.places[place], step]) : []), sums = new Map();
        refuse(!good || steps.size < change.length, `${where}: changes: names a count that is not hidden, or one twice`);
        for (const [cell, step] of steps) {
          refuse(this.counts[cell] + step < (this.least.get(cell) || 0), `${where}: changes: a count falls too low`);
          for (const [row, sign] of rowsOf[cell]) sums.set(row, [...(sums.get(row) || []), sign * step]);
        }
        refuse(![...sums.values()].every(isZero), `${where}: changes: one does not leave every sum as it is`);
        return steps;
      });
    }
    near(cells, known = [], least = []) { // which of them take no two values more than tau apart, for somebody with a view
      const [up, down] = this.ranges(known, least);
      return cells.filter((cell) => !known.includes(cell) && (up.get(cell) || 0) + (down.get(cell) || 0) <= this.stated.tau);
    }
    ranges(known = [], least = []) { // how far counts rise and fall over the changes that somebody cannot exclude
      const up = new Map(), down = new Map();
      for (const steps of this.changes) {
        const excluded = known.some((cell) => steps.get(cell)) || least.some(([cell, fewest]) => this.counts[cell] + (steps.get(cell) || 0) < fewest);
        for (const [cell, step] of excluded ? [] : steps) {
          if (step > (up.get(cell) || 0)) up.set(cell, step);
          if (-step > (down.get(cell) || 0)) down.set(cell, -step);
        }
      }
      return [up, down];
    }
  }
  // Whether tables that agree on all shared margins may have no population behind them (Graham's reduction). Regions in
  // one table and districts in another act like two axes, of which the finer table has both.
  function isCycle(tables) {
    const used = new Map(), text = ({ leafLabels }) => JSON.stringify(leafLabels);
    for (const axis of tables.flatMap(({ axes }) => axes)) {
      if (!used.has(axis.name)) used.set(axis.name, new Map());
      used.get(axis.name).set(text(axis), axis.leafLabels);
    }
    const levels = new Map([...used].map(([name, sets]) => [name, [...sets.values()].sort((one, other) => one.length - other.length)]));
    const apart = [...levels].some(([name, sets]) => sets.length > 1 && !isNested(tables, name, sets));
    if (apart) return tables.length > 2;
    let scopes = tables.map(({ axes }) => new Set(axes.flatMap((axis) => {
      const rank = levels.get(axis.name).findIndex((labels) => same(labels, axis.leafLabels));
      return range(rank + 1).map((level) => JSON.stringify([axis.name, level]));
    })));
    const inside = (one, other) => [...one].every((each) => other.has(each));
    while (scopes.length > 1) {
      const smaller = scopes.map((scope) => new Set([...scope].filter((each) => scopes.filter((other) => other.has(each)).length > 1)));
      const kept = smaller.filter((one, a) => !smaller.some((other, b) => inside(one, other) && (one.size < other.size || (a < b && one.size === other.size))));
      if (kept.length === scopes.length && kept.every((scope, a) => scope.size === scopes[a].size)) return true;
      scopes = kept;
    }
    return false;
  }
  function isNested(tables, name, order) { // whether every finer set of categories parts each category of the wider one
    const parts = new Map();
    for (const { labels, splits } of tables.flatMap(({ axes }) => axes.filter((axis) => axis.name === name))) {
      for (const [whole, listed] of splits.filter(([node]) => node)) {
        parts.set(labels[whole], [...(parts.get(labels[whole]) || []), ...listed.map((part) => labels[part])]);
      }
    }
    const below = (label) => {
      const found = new Set([label]);
      for (const each of found) (parts.get(each) || []).forEach((part) => found.add(part));
      return found;
    };
    return order.slice(1).every((fine, at) => {
      const wide = order[at].map(below);
      return fine.every((label) => wide.filter((each) => each.has(label)).length === 1) && wide.every((each) => fine.some((label) => each.has(label)));
    });
  }

  // 4. Coalitions of respondents: counts of cells that hold nobody else, and least counts of others.
  function* views(pattern, insiders) {
    const { counts, fresh } = pattern, sums = smallSums(pattern, insiders), seen = new Set();
    const choices = fresh.map((table) => {
      const members = table.inner().map((place) => table.ids[place]).flatMap((cell) => range(Math.min(counts[cell], insiders)).map((n) => [cell, n + 1]));
      return [[], ...subsets(members.filter(([cell, n]) => n === counts[cell] || n > 1), insiders)];
    });
    const labels = [...pattern.number.keys()].map((key) => new Map(JSON.parse(key).map(JSON.parse)));
    for (const chosen of product(choices)) {
      const items = [...new Map(chosen.flat().map((item) => [String(item), item])).values()].sort(([a, m], [b, n]) => a - b || m - n);
      if (!items.length || (insiders === 1 && !isOnePerson(pattern, items.map(([cell]) => labels[cell])))) continue;
      const full = new Set(items.filter(([cell, n]) => n === counts[cell]).map(([cell]) => cell)), known = new Set(full);
      for (const part of full) {
        for (const [cell, parts] of sums.get(part) || []) if (parts.every((each) => full.has(each))) known.add(cell);
      }
      const view = [[...known].sort((a, b) => a - b), items.filter(([cell]) => !known.has(cell))], text = JSON.stringify(view);
      if (seen.has(text)) continue;
      seen.add(text);
      unread(seen.size > MOST_COALITIONS, `more than ${comma(MOST_COALITIONS)} coalitions of ${insiders} respondents.`);
      yield view;
    }
  }
  function* subsets(items, most, from = 0) { // cells with members, so many together; each cell once
    for (let at = from; at < items.length; at++) {
      const [cell, members] = items[at];
      if (members > most) continue;
      yield [items[at]];
      const rest = items.slice(at + 1).filter(([other]) => other !== cell);
      for (const more of subsets(rest, most - members)) yield [items[at], ...more];
    }
  }
  function smallSums(pattern, most) { // for every inner cell, the cells of so many people that it is part of, with their occupied parts
    const found = new Map();
    for (const table of pattern.fresh) {
      for (const [place, nodes] of [...product(table.shape.map(range))].entries()) {
        const people = pattern.counts[table.ids[place]];
        if (!(people > 0 && people <= most)) continue;
        const leaves = table.axes.map((axis, a) => axis.leaves.filter((leaf) => axis.below[nodes[a]].has(leaf)));
        const cells = [...product(leaves)].map((each) => table.ids[table.place(each)]);
        const occupied = [...new Set(cells.filter((cell) => pattern.counts[cell] > 0))];
        occupied.forEach((part) => found.set(part, [...(found.get(part) || []), [table.ids[place], occupied]]));
      }
    }
    return found;
  }
  function isOnePerson(pattern, cells) { // whether one person can be in all of them: on every axis they have categories in common
    const names = new Set(pattern.fresh.flatMap(({ axes }) => axes.map(({ name }) => name)));
    return [...names].every((name) => {
      const inside = [...new Set(cells.filter((cell) => cell.has(name)).map((cell) => cell.get(name)))].map((label) => {
        const holder = pattern.tables.flatMap(({ axes }) => axes).find((axis) => axis.name === name && axis.labels.includes(label));
        return pattern.labelsBelow(holder, holder.labels.indexOf(label));
      });
      return !inside.length || [...inside[0]].some((label) => inside.every((each) => each.has(label)));
    });
  }

  // 5. What certificates state
  const SHARED = { schema: isCount, kind: isText, statement: isText, ...TABLES };
  const OWN = { primary: isCounts, protect: (value) => isNull(value) || isCount(value), insiders: isCount, lower_bound: isCount, fewest: (value) => isNull(value) || isMap(value), extra: isCount, rule: oneOf("rerun", "not shown"), rule_tables: isCount, known_in_range: isMaps };
  const OFFICE_STATEMENT = "each suppressed count has values more than tau apart in integer tables that print the same";
  function statement({ tau, tables, known_before: known, unproved }) { // of a public certificate
    const before = tables.filter((table) => table.get("earlier")).map((table) => quoted(table.get("file"))).join(", ");
    const near = tau ? `to an interval no wider than ${comma(tau)}` : "exactly";
    const verb = known.length === 1 ? "is" : "are";
    return `Nobody can infer a suppressed count ${near} from all printed counts together`
      + (before && `, those of ${before} included`)
      + (known.length ? `; ${many(known.length, "count")} that earlier tables disclose ${verb} excepted` : "")
      + `. ${unproved ? `For ${many(unproved, "suppressed count")} this was not shown. ` : ""}`
      + "The onlooker of this statement knows that zeros are printed, and neither the rule by which counts were chosen to be suppressed nor any count that is not printed.";
  }
  function officeText({ tau, insiders, protect, primary, lower_bound: bound }, fewest) { // of one for the office, with the limits that it names
    return `Each suppressed count has values more than ${comma(tau)} apart in integer tables that print the same`
      + (insiders ? `, also for ${many(insiders, "respondent")} together who know their own cells` : "")
      + (protect === null ? "" : `; each suppressed count from ${comma(primary[0])} to ${comma(primary[1])} could be ${comma(protect)} or more`)
      + (fewest !== null && fewest >= bound && bound ? `; no pattern that protects them has fewer than ${many(bound, "cell")}.` : ".");
  }
  async function check(document, files, where, result) {
    const isPublic = document.get("kind") === PUBLIC;
    const stated = fields(document, isPublic ? { ...SHARED, unproved: isCount } : { ...SHARED, ...OWN }, where);
    refuse(stated.schema !== (isPublic ? 2 : 1), `${where}: is of another schema`);
    refuse(!stated.tables.every(isMap), `${where}: tables: is of another kind`);
    refuse(stated.statement !== (isPublic ? statement(stated) : OFFICE_STATEMENT), `${where}: its statement does not follow from it`);
    if (!isPublic) refuseOthers(files, stated.files.keys());
    const pattern = new Pattern(stated, where);
    await pattern.read(files);
    const short = pattern.near(pattern.claimed).length;
    refuse(short !== (isPublic ? stated.unproved : 0), `${where}: ${comma(short)} suppressed counts have no values far enough apart`);
    const notes = isPublic ? [] : checkOffice(pattern), known = pattern.knownBefore.size;
    const areas = new Set(pattern.tables.flatMap(({ axes }) => axes.filter(({ splits }) => splits.length > 1).map(({ name }) => name)));
    notes.push(...[...areas].sort().map((name) => `which areas of ${name} add up to which: the certificate states it.`));
    if (pattern.tables.length > 1) notes.push("that axes and categories with different names are different: names are taken as they are.");
    if (known) notes.push(`that ${many(known, "count")} were known before, as the certificate says.`);
    notes.push("the printed counts themselves, and whether all earlier tables about these people are listed.");
    const isBehind = pattern.people.length > 0 || !isCycle(pattern.tables);
    if (!isBehind) notes.push("whether a population is behind each witness: the tables form a cycle.");
    result.unchecked.push(...notes);
    Object.assign(result, { files: Math.max(result.files, pattern.tables.length), cells: pattern.claimed.length, tables: 1, moves: pattern.changes.length });
    Object.assign(result, { proved: isBehind, statement: isPublic ? stated.statement : officeText(stated, pattern.fewest) });
  }
  function checkOffice(pattern) { // what only the certificate of the office states; its counts are the true ones
    const { stated, where, counts } = pattern, { primary, insiders, protect } = stated, [least, most] = primary;
    refuse(primary.length !== 2 || least < 1 || most < least, `${where}: primary: is no range`);
    for (const view of insiders ? views(pattern, insiders) : []) {
      const near = pattern.near(pattern.claimed, ...view).length;
      refuse(near, `${where}: insiders can infer ${many(near, "suppressed count")}`);
    }
    const [up] = pattern.ranges(), notes = checkFewest(pattern), highest = (cell) => counts[cell] + (up.get(cell) || 0);
    const small = [...pattern.newGaps].filter((cell) => counts[cell] >= least && counts[cell] <= most);
    const low = protect === null ? 0 : small.filter((cell) => highest(cell) < protect).length;
    refuse(low, `${where}: ${many(low, "primary count")} are below ${protect} in every table`);
    const inRange = new Set(stated.known_in_range.map((cell) => pattern.find(cell)));
    const unshown = small.filter((cell) => !inRange.has(cell) && highest(cell) <= most).length;
    if (unshown) notes.push(`that ${many(unshown, "primary count")} can be above ${most}: no table of the certificate shows it.`);
    if (stated.rule === "rerun") notes.push(`that the program may print the same gaps for ${comma(stated.rule_tables)} other tables.`);
    return notes;
  }

  function checkFewest(pattern) { // the lower bound on the number of cells, as far as its proof goes
    const { stated: { lower_bound: bound, fewest }, where } = pattern, claim = `that no pattern that protects them has fewer than ${many(bound, "cell")}`;
    refuse(bound > pattern.newGaps.size, `${where}: lower_bound: is more than the cells that are suppressed`);
    pattern.fewest = fewest && shownFewest(pattern);
    if (!fewest) return bound ? [`${claim}.`] : [];
    return pattern.fewest < bound ? [`${claim}: the proof shows ${comma(pattern.fewest)}.`] : [];
  }
  // How many cells every pattern has: sums times integers, added up, keep a cell from moving while some others are printed,
  // so one of these is suppressed where the cell is; and such requirements, times weights, add up to a number of cells.
  function shownFewest(pattern) {
    const { counts, stated: { tau, protect, primary: [low, high] }, size, gaps, oldGaps, newGaps, printed } = pattern, where = `${pattern.where}: fewest`;
    const { kept, proofs, tree } = fields(pattern.stated.fewest, { kept: isCounts, proofs: isList, tree: isMap }, where), keep = new Set(kept);
    const fresh = new Set(pattern.fresh.flatMap(({ ids }) => ids)), isPrimary = (cell) => newGaps.has(cell) && counts[cell] >= low && counts[cell] <= high;
    refuse(kept.some((cell) => gaps.has(cell) || !fresh.has(cell)), `${where}: a cell that is kept is suppressed, or in no new table`);
    const root = pattern.number.get(keyOf([]));
    const isFixed = (cell) => keep.has(cell) || pattern.printedBefore.has(cell) || pattern.knownBefore.has(cell) || cell === root || printed.get(cell) === 0;
    const forced = new Set([...newGaps].filter((cell) => isPrimary(cell) || oldGaps.has(cell)));
    const free = new Set([...fresh].filter((cell) => !isFixed(cell) && !forced.has(cell)));
    const room = range(size).map((cell) => BigInt(counts[cell] - (gaps.has(cell) || printed.has(cell) ? 1 : 0))); // zeros are printed
    const needs = proofs.map((proof) => {
      const { cell, cells, sides } = fields(proof, { cell: isCount, cells: isInts, sides: isList }, where), others = new Set(cells);
      const isClaimed = free.has(cell) || forced.has(cell) || (gaps.has(cell) && !isFixed(cell));
      refuse(!isClaimed || cells.some((other) => !free.has(other) || other === cell), `${where}: a proof is about cells that are never printed`);
      refuse(![1, 2].includes(sides.length) || !sides.every((side) => isList(side) && side.length === 3), `${where}: a proof has other sides`);
      const rise = protect !== null && isPrimary(cell) ? protect - counts[cell] : 0, amounts = sides.map(([amount]) => amount);
      const isAsked = amounts.every((amount) => isCount(amount) && amount) && (amounts.length === 2 ? amounts[0] + amounts[1] <= tau + 2 : amounts[0] <= rise);
      refuse(!isAsked, `${where}: a proof shows no limit that is asked for`);
      sides.forEach(([amount, times, rows], side) => {
        const good = isCount(times) && times > 0 && isList(rows) && rows.every((pair) => isPair(pair) && isInts(pair) && pair[0] >= 0 && pair[0] < pattern.sums.length);
        refuse(!good, `${where}: a proof is of another form, or has a sum that does not exist`);
        const rest = new Map([[cell, BigInt(side ? times : -times)]]), put = (at, number) => rest.set(at, (rest.get(at) || 0n) + number);
        for (const [row, number] of rows) pattern.sums[row].forEach((at, place) => put(at, BigInt(place ? -number : number)));
        const left = [...rest].filter(([at]) => !isFixed(at) && !others.has(at)), most = left.reduce((all, [at, number]) => all + number * room[at], 0n);
        refuse(left.some(([, number]) => number < 0n) || most >= BigInt(amount) * BigInt(times), `${where}: a proof does not add up`);
      });
      return [cell, others];
    });
    const leastCells = (node, said) => { // in this case and in all cases within it
      if (node.has("cell")) {
        const { cell, with: inside, without } = fields(node, { cell: isCount, with: isMap, without: isMap }, where);
        refuse(!free.has(cell) || said.has(cell), `${where}: a case is about no free cell, or about one twice`);
        const [one, other] = [[inside, true], [without, false]].map(([each, is]) => leastCells(each, new Map([...said, [cell, is]])));
        return one < other ? one : other;
      }
      const { times, weights } = fields(node, { times: (value) => isCount(value) && value > 0, weights: isList }, where), own = BigInt(times);
      const left = new Map([...said].filter(([, is]) => is).map(([cell]) => [cell, own]));
      let total = 0n;
      for (const pair of weights) {
        refuse(!isPair(pair) || !isCounts(pair) || pair[0] >= needs.length, `${where}: there is no such proof`);
        const [cell, others] = needs[pair[0]], weight = BigInt(pair[1]), put = (at, number) => left.set(at, (left.has(at) ? left.get(at) : own) + number);
        if (free.has(cell)) put(cell, weight);
        else total += weight;
        others.forEach((other) => put(other, -weight));
      }
      for (const [cell, r] of left) total += said.get(cell) || (!said.has(cell) && r < 0n) ? r : 0n;
      return total > 0n ? (total + own - 1n) / own : 0n;
    };
    return forced.size + Number(leastCells(tree, new Map()));
  }

  // 6. A published folder, and a certificate by itself with the files that it is about
  async function found(result, doing) { // findings, and what cannot be read, go into the result
    try { await doing(); } catch (error) {
      if (error instanceof NotRead) result.unchecked.push(error.message);
      else result.failures.push(base.parts.worded(error));
    }
  }
  async function checkFolder(manifest, files, more, result) {
    const where = CERTIFICATE, stated = parseJson(where, files.get(where));
    refuse(!isMap(stated) || stated.get("kind") !== PUBLIC, `${where}: is not of suppressed tables`);
    for (const key of ["statement", "tau"]) refuse(!stated.has(key) || !same(stated.get(key), manifest.get(key)), `manifest: states another ${key} than ${where}`);
    const tables = stated.get("tables"), good = isMaps(tables) && tables.every((table) => isText(table.get("file")) && isBool(table.get("earlier")));
    refuse(!good, `${where}: tables: is of another kind`);
    const [before, own] = [true, false].map((earlier) => tables.filter((table) => table.get("earlier") === earlier).map((table) => table.get("file")));
    refuse(own.some((name) => !files.has(name)) || before.some((name) => files.has(name)), `${where}: the folder does not hold its tables, or earlier ones`);
    refuseOthers(more, before);
    const others = [...manifest.get("files").keys()].filter((name) => ![...own, ...before, where].includes(name)).sort();
    result.unchecked.push(...others.map((name) => `that ${name} prints the same as the tables of the certificate.`));
    await found(result, () => check(stated, new Map([...more, ...files]), where, result));
  }
  async function checkOne(content, given, name) {
    const result = { failures: [], unchecked: [], warnings: [], statement: "", proved: false, files: 0, tables: 0, moves: 0, cells: 0 };
    await found(result, async () => {
      const document = parseJson(name, content, true), kind = isMap(document) ? document.get("kind") : null;
      unread(kind === "release", "anything: the certificate of a release is checked with its folder; give `published`.");
      refuse(![PUBLIC, OFFICE, "bounds"].includes(kind), `${name}: is no certificate of intervals or of suppression`);
      unread(kind === "bounds" && !beside.checkIntervals, "what nobody can infer: that needs safemargin_verify_intervals.js beside this file.");
      if (kind === "bounds") await beside.checkIntervals(document, given, name, result);
      else await check(parseJson(name, content), given, name, result); // again, with integers of 15 characters
    });
    return { ...result, outcome: base.parts.outcomeOf(result) };
  }

  Object.assign(beside, { checkFolder, checkOne, parts: { unread, many, product, range, strip, refuseOthers, hashed } });
  return beside;
})(typeof module !== "undefined" ? require("./safemargin_verify.js") : safemarginVerify);
if (typeof module !== "undefined") module.exports = safemarginTables;
