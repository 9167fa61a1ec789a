"use strict";
// A number as it is printed: "4,299", "12 %", "3 of 4", "≈ 80 %"; text where there is none.
function sortKey(cell) {
  const text = cell.textContent.trim();
  const number = /^[^\p{L}\d]*(-?\d[\d,]*(?:\.\d+)?)/u.exec(text);
  return number ? parseFloat(number[1].replaceAll(",", "")) : text.toLowerCase();
}
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, place) => {
    if (head.tagName !== "TH") return;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const rows = [...table.tBodies[0].rows].map((row) => [sortKey(row.cells[place]), row]);
      rows.sort(([a], [b]) => {
        const order = typeof a === typeof b ? (a < b ? -1 : a > b ? 1 : 0) : typeof a === "number" ? -1 : 1;
        return up ? order : -order;
      });
      table.tBodies[0].append(...rows.map(([, row]) => row));
    });
  });
}
for (const map of document.querySelectorAll(".map")) {
  const said = map.querySelector(".said");
  const find = map.querySelector(".find");
  const [name, only] = find.querySelectorAll("input");
  const status = find.querySelector("[role=status]");
  const squares = [...map.querySelectorAll("td button")];
  const say = (event) => { if (event.target.title) said.textContent = event.target.title; };
  said.hidden = find.hidden = false;
  map.addEventListener("mouseover", say);
  map.addEventListener("focusin", say);
  map.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const place = squares.indexOf(event.target);
    if (!step || place < 0) return;
    const open = squares.filter((square) => square.offsetParent !== null);
    const next = open[open.indexOf(event.target) + step];
    if (next) { next.focus(); event.preventDefault(); }
  });
  const filter = () => {
    const wanted = name.value.trim().toLowerCase();
    const heads = [...map.querySelectorAll("thead th")];
    let shown = 0;
    heads.forEach((head, place) => {
      const cells = [...map.querySelectorAll("tbody tr")].map((row) => row.cells[place + 1]);
      const exposed = cells.some((cell) => cell.querySelector(".exposed"));
      const hide = !head.textContent.toLowerCase().includes(wanted) || (only.checked && !exposed);
      [head, ...cells].forEach((cell) => { cell.hidden = hide; });
      shown += hide ? 0 : 1;
    });
    status.textContent = shown + " of " + heads.length + " shown";
  };
  name.addEventListener("input", filter);
  only.addEventListener("change", filter);
  filter();
}
