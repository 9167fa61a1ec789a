"use strict";
// The coloured table: find, filters, sorting, arrow keys, and a drawer about the cell that is pointed at or chosen.
for (const table of document.querySelectorAll(".counts .ct")) {
  const whole = table.closest(".counts"), body = table.tBodies[0], aside = whole.querySelector("aside");
  const tools = whole.querySelector(".tools"), find = tools.querySelector("[type=search]"), status = tools.querySelector("[role=status]");
  const only = tools.querySelector("[data-only]"), fold = tools.querySelector("[data-fold]");
  const rows = [...body.rows].filter((row) => !row.classList.contains("fold"));
  const words = new Map([...whole.querySelectorAll(".legend li")].map((item) => [[...item.firstChild.classList].find((name) => name !== "sw") || "", item.textContent.replace(/^\S?\s+/, "")]));
  const heads = [...table.tHead.rows[0].cells], corners = heads.filter((head, place) => rows[0] && rows[0].cells[place] && rows[0].cells[place].tagName === "TH").length;
  const make = (tag, text, name) => { const made = document.createElement(tag); if (text) made.textContent = text; if (name) made.className = name; return made; };
  const names = rows.map((row) => [...row.cells].slice(0, corners).map((cell) => cell.textContent).join(" ").toLowerCase());
  const opened = new Set();
  let pinned = null, here = null;
  tools.hidden = rows.length < 6;
  if (fold) fold.checked = rows.length > 100;
  const isPlain = (row) => !row.className && !row.querySelector("td[class]:not(.z):not(.sum)");
  const plain = rows.map(isPlain);
  const draw = () => {
    const wanted = find.value.trim().toLowerCase();
    for (const line of body.querySelectorAll("tr.fold[data-run]")) line.remove();
    let shown = 0, run = [];
    const end = () => {
      if (run.length > 4 && !opened.has(run[0])) {
        const line = make("tr", "", "fold"), cell = make("td"), button = make("button", run.length + " rows, all exact: show"), first = run[0];
        line.dataset.run = ""; cell.colSpan = heads.length; button.type = "button";
        button.addEventListener("click", () => { opened.add(first); draw(); });
        cell.append(button); line.append(cell); first.before(line);
        for (const row of run) row.hidden = true;
      }
      run = [];
    };
    [...body.rows].filter((row) => !row.classList.contains("fold")).forEach((row) => {
      const place = rows.indexOf(row), quiet = plain[place];
      row.hidden = !names[place].includes(wanted) || (only && only.checked && quiet);
      if (!row.hidden) shown += 1;
      if (!row.hidden && quiet && fold && fold.checked && !wanted) run.push(row); else end();
    });
    end();
    status.textContent = shown.toLocaleString("en") + " of " + rows.length.toLocaleString("en") + " rows";
  };
  const value = (row, place) => {
    const cell = row.cells[place];
    if (!cell) return -Infinity;
    if (cell.style.getPropertyValue("--p")) return parseFloat(cell.style.getPropertyValue("--p"));
    const number = /[−-]?\d[\d,]*(\.\d+)?/.exec(cell.textContent);
    return cell.tagName === "TH" ? cell.textContent.trim() : number ? parseFloat(number[0].replaceAll(",", "").replace("−", "-")) : -Infinity;
  };
  if (rows.length > 2) heads.forEach((head, place) => {
    const button = make("button");
    button.type = "button";
    button.append(...head.firstChild.childNodes);
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") === "descending" || (place < corners && !head.hasAttribute("aria-sort"));
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const keyed = rows.map((row) => [value(row, place), row]);
      keyed.sort(([a], [b]) => (up ? 1 : -1) * (typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : a - b));
      body.append(...keyed.map(([, row]) => row));
      draw();
    });
  });
  if (!whole.classList.contains("shares")) {
    aside.hidden = false;
    whole.querySelector(".split").classList.add("with");
    const say = (cell) => {
      const row = cell.parentNode, kind = [...cell.classList].find((name) => words.has(name)) || "";
      const label = (node) => [...(node.querySelectorAll(".brk span").length ? node.querySelectorAll(".brk span") : [node])].map((part) => part.textContent.trim()).join(" + ");
      const name = [...[...row.cells].slice(0, corners), heads[cell.cellIndex]].map(label).join(", ");
      const text = cell.textContent.replace(/^[A-Z!✓](?=\d|≈|$)/u, "").trim();
      const parts = [make("p", name, "name")];
      const low = cell.dataset.l === undefined ? null : Number(cell.dataset.l), high = cell.dataset.u === undefined ? null : Number(cell.dataset.u);
      const format = (number) => number.toLocaleString("en");
      const isBad = cell.classList.contains("is-exposed");
      aside.classList.toggle("bad", isBad);
      aside.classList.toggle("ok", !isBad && low !== null);
      if (low === null) {
        const said = { "": "Published exactly: ", "is-merged": "Published for the whole group: ", dots: "Published with noise: " }[kind];
        parts.push(make("p", text && said ? said + text + "." : (words.get(kind) || "exact") + "."));
      } else {
        const known = low === high ? "exactly " + format(low) : high === null ? format(low) + " or more" : "between " + format(low) + " and " + format(high);
        parts.push(make("p", "Anybody can infer: " + known + ".", isBad ? "unsound" : ""));
        const top = Math.max(high === null ? low * 2 : high, 8) * 1.15, bar = make("div", "", "ivl");
        bar.setAttribute("aria-hidden", "true");
        const mark = make("i"), place = (number) => (100 * number / top) + "%";
        mark.style.left = "calc(" + place(low) + " - .375rem)";
        mark.style.width = "calc(" + (100 * ((high === null ? top : high) - low) / top) + "% + .75rem)";
        bar.append(mark);
        for (const [number, end] of [[low, ""], ...(high !== null && high > low ? [[high, ""]] : []), [0, "end"]]) {
          const tick = make("span", format(number), end);
          tick.style.left = place(number);
          bar.append(tick);
        }
        parts.push(bar);
      }
      const note = cell.dataset.n === undefined ? null : whole.querySelector('[data-note="' + cell.dataset.n + '"]');
      if (note) parts.push(...[...note.cloneNode(true).children].slice(1).filter((part) => !part.classList.contains("known")));
      aside.replaceChildren(...parts);
      if (here) here.classList.remove("on");
      (here = cell).classList.add("on");
    };
    const target = (event) => { const cell = event.target.closest("td"); return cell && !cell.closest(".fold, .sup") && table.contains(cell) ? cell : null; };
    table.addEventListener("mouseover", (event) => { const cell = target(event); if (cell && !pinned) say(cell); });
    table.addEventListener("focusin", (event) => { const cell = target(event); if (cell && !pinned) say(cell); });
    table.addEventListener("click", (event) => { const cell = target(event); if (cell) { pinned = pinned === cell ? null : cell; aside.classList.toggle("pinned", !!pinned); say(cell); cell.tabIndex = -1; cell.focus(); } });
    const first = ["tbody .is-exposed", "tbody td[data-l]", "tbody td[data-n]", "tbody td"].map((each) => table.querySelector(each)).find(Boolean);
    if (first) say(first);
  }
  // One stop of the tab key for the whole table; arrow keys, Home and End move inside it.
  let stop = body.querySelector("td.on") || body.querySelector("td");
  if (stop) stop.tabIndex = 0;
  table.closest(".frame").removeAttribute("tabindex");
  table.addEventListener("focusin", (event) => { const cell = event.target.closest("td"); if (cell && cell !== stop) { stop.tabIndex = -1; (stop = cell).tabIndex = 0; } });
  table.addEventListener("keydown", (event) => {
    const cell = event.target.closest("td");
    if (!cell) return;
    if (event.key === "Enter" && event.target === cell) { cell.click(); return; }
    const lines = [...body.rows, ...(table.tFoot ? table.tFoot.rows : [])].filter((row) => !row.hidden && !row.classList.contains("fold"));
    const line = lines.indexOf(cell.parentNode), place = cell.cellIndex;
    const step = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0], Home: [0, corners - place], End: [0, heads.length - 1 - place] }[event.key];
    if (!step) return;
    event.preventDefault();
    const row = lines[line + step[0]], next = row && row.cells[Math.min(place + step[1], row.cells.length - 1)];
    if (next && next.tagName === "TD") { next.tabIndex = -1; next.focus(); next.scrollIntoView({ block: "nearest", inline: "nearest" }); }
  });
  find.addEventListener("input", draw);
  for (const box of [only, fold]) if (box) box.addEventListener("change", draw);
  draw();
}
