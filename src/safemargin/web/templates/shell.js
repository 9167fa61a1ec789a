{% include "page.js" %}
{% include "counts.js" %}

// How far the command at work is. Every window asks; where nobody answers, the workbench has ended.
const gone = document.getElementById("gone");
const strip = document.getElementById("strip");
const here = document.getElementById("job");
let misses = 0;
function follow(job) {
  const runs = job !== null && job.state === "running";
  if (here && job && String(job.number) === here.dataset.number && here.dataset.state === "running") {
    const bar = document.getElementById("bar");
    const step = document.getElementById("step");
    if (!runs) {
      // A result that came though Cancel was pressed is not shown without a word.
      if (job.state === "done" && !job.message) location.replace(job.link); else location.reload();
      return false;
    }
    const words = job.step + (job.seconds >= 2 ? " (" + Math.round(job.seconds) + " s)" : "");
    if (step.textContent !== words) step.textContent = words;
    if (job.total) { bar.max = job.total; bar.value = job.done; } else bar.removeAttribute("value");
  } else if (!here) {
    strip.hidden = !runs;
    if (runs) {
      const link = strip.querySelector("a");
      link.href = "job?id=" + job.number;
      link.textContent = job.title + " is running";
      strip.querySelector("span").textContent = job.step;
    }
  }
  return runs;
}
async function ask() {
  let pause = 1500;
  try {
    const answer = await fetch("status");
    if (!answer.ok) throw new Error();
    const runs = follow((await answer.json()).job);
    misses = 0;
    gone.hidden = true;
    if (runs) pause = 400;
  } catch {
    misses += 1;
    gone.hidden = misses < 2;
    pause = misses < 2 ? 300 : 1500;
  }
  setTimeout(ask, pause);
}
ask();

// A form is sent once, whoever clicks twice.
for (const form of document.querySelectorAll("form[method=post]")) {
  form.addEventListener("submit", (event) => {
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = "yes";
    setTimeout(() => { delete form.dataset.sent; }, 3000);
  });
}

// A file that is dropped is copied for as long as the workbench runs; large ones are better named by their path.
for (const box of document.querySelectorAll(".drop")) {
  const path = document.getElementById(box.dataset.for);
  const choose = box.querySelector(".choose");
  const status = choose.querySelector("[role=status]");
  const send = async (file) => {
    if (!file) return;
    status.textContent = "Reading " + file.name;
    try {
      const answer = await (await fetch("drop?name=" + encodeURIComponent(file.name), { method: "POST", body: file })).json();
      status.textContent = answer.error || file.name + " is ready";
      if (answer.path) path.value = answer.path;
    } catch {
      status.textContent = file.name + " could not be read";
    }
  };
  choose.hidden = false;
  choose.querySelector("input").addEventListener("change", (event) => send(event.target.files[0]));
  box.addEventListener("dragover", (event) => { event.preventDefault(); box.classList.add("over"); });
  box.addEventListener("dragleave", () => box.classList.remove("over"));
  box.addEventListener("drop", (event) => {
    event.preventDefault();
    box.classList.remove("over");
    send(event.dataTransfer.files[0]);
  });
}

// A map of more tiles than a browser lays out as elements.
for (const map of document.querySelectorAll(".tilemap")) {
  const data = JSON.parse(map.querySelector("script").textContent);
  const canvas = map.querySelector("canvas");
  const said = map.querySelector(".said");
  const [name, only] = map.querySelectorAll(".find input");
  const status = map.querySelector(".find [role=status]");
  const side = 7;
  const places = new Map();
  let shown = [];
  let cursor = -1;
  const words = ([row, column, people, why]) =>
    data.columns[column] + ", " + data.rows[row] + ": " + people.toLocaleString("en") + (people === 1 ? " person; " : " people; ") + (why || "within the limits") + ".";
  const pick = (place) => {
    cursor = Math.max(0, Math.min(place, shown.length - 1));
    if (shown[cursor]) said.textContent = words(shown[cursor]);
    draw();
  };
  function draw() {
    const pen = canvas.getContext("2d");
    pen.clearRect(0, 0, canvas.width, canvas.height);
    shown.forEach((cell, place) => {
      const [x, y] = [cell.x * side, cell.y * side];
      pen.fillStyle = cell[3] ? "#b01d17" : "#17714f";
      pen.fillRect(x, y, side - 1, side - 1);
      if (cell[3]) { pen.fillStyle = "#fff"; pen.fillRect(x + 2, y + 2, side - 5, side - 5); }
      if (place === cursor) { pen.strokeStyle = getComputedStyle(map).color; pen.strokeRect(x - .5, y - .5, side, side); }
    });
  }
  function layout() {
    const wanted = name.value.trim().toLowerCase();
    const cells = data.cells.filter(([row, column, , why]) => (!only.checked || why)
      && (data.columns[column] + ", " + data.rows[row]).toLowerCase().includes(wanted));
    const rows = [...new Set(cells.map((cell) => cell[0]))].sort((a, b) => a - b);
    const columns = [...new Set(cells.map((cell) => cell[1]))].sort((a, b) => a - b);
    const [x, y] = [new Map(columns.map((each, place) => [each, place])), new Map(rows.map((each, place) => [each, place]))];
    places.clear();
    shown = cells.map((cell) => Object.assign([...cell], { x: x.get(cell[1]), y: y.get(cell[0]) }));
    shown.forEach((cell, place) => places.set(cell.x + " " + cell.y, place));
    canvas.width = Math.max(1, columns.length * side);
    canvas.height = Math.max(1, rows.length * side);
    cursor = -1;
    status.textContent = shown.length.toLocaleString("en") + " of " + data.cells.length.toLocaleString("en") + " cells shown";
    draw();
  }
  const go = () => {
    if (!shown[cursor]) return;
    const cell = new URLSearchParams();
    cell.set(data.names.column, data.columns[shown[cursor][1]]);
    cell.set(data.names.row, data.rows[shown[cursor][0]]);
    const here = new URLSearchParams({ rows: data.names.row, columns: data.names.column, cell: cell.toString() });
    location.href = "map?" + here.toString() + "#cell";
  };
  const at = (event) => places.get(Math.floor(event.offsetX / side) + " " + Math.floor(event.offsetY / side));
  canvas.addEventListener("mousemove", (event) => { const place = at(event); if (place !== undefined && place !== cursor) pick(place); });
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step) { pick(cursor + step); event.preventDefault(); }
    if (event.key === "Enter") go();
  });
  canvas.addEventListener("click", (event) => { const place = at(event); if (place !== undefined) { pick(place); go(); } });
  name.addEventListener("input", layout);
  only.addEventListener("change", layout);
  layout();
}

// A square of a map leads to the drawer of its cell; a drawer that opened gets the focus.
for (const square of document.querySelectorAll("[data-address]")) square.addEventListener("click", () => { location.href = square.dataset.address; });
const drawer = document.getElementById("cell");
if (drawer) {
  if (location.hash === "#cell" || location.search.includes("job=")) { drawer.scrollIntoView(); drawer.focus(); }
  drawer.addEventListener("keydown", (event) => { if (event.key === "Escape") drawer.querySelector(".close a").click(); });
}
const wanted = new URLSearchParams(location.search).get("find");
const search = document.querySelector(".map .find input[type=search]");
if (wanted && search) { search.value = wanted; search.dispatchEvent(new Event("input")); }
