{% include "page.js" %}
{% include "counts.js" %}

// How far the command at work is. Every window asks; where nobody answers, the workbench has ended.
const gone = document.getElementById("gone");
const strip = document.getElementById("strip");
const news = document.getElementById("news");
const here = document.getElementById("job");
let misses = 0;
let watched = 0;
let begun = 0;
const seconds = (count) => Math.round(count) + " s";
function follow(job) {
  const runs = job !== null && job.state === "running";
  if (runs) { watched = job.number; begun = performance.now() - 1000 * job.seconds; }
  if (here && job && String(job.number) === here.dataset.number && here.dataset.state === "running") {
    if (!runs) {
      // A result that came though Cancel was pressed is not shown without a word.
      if (job.state === "done" && !job.message) location.replace(job.link); else location.reload();
      return false;
    }
    const bar = document.getElementById("bar");
    const step = document.getElementById("step");
    if (step.textContent !== job.step) step.textContent = job.step;
    document.getElementById("far").textContent = job.total
      ? job.done.toLocaleString("en") + " of " + job.total.toLocaleString("en") + " in this step. You may go to other pages."
      : "How long this step takes is not known before. You may go to other pages: a notice says when it has ended.";
    if (job.total) { bar.max = job.total; bar.value = job.done; } else bar.removeAttribute("value");
    document.getElementById("steps").replaceChildren(...job.steps.slice(0, -1).map(([words, start], place) => {
      const line = document.createElement("li");
      line.textContent = words + ": " + seconds(job.steps[place + 1][1] - start);
      return line;
    }));
  } else if (!here) {
    strip.hidden = !runs;
    if (runs) {
      const link = strip.querySelector("a");
      link.href = "job?id=" + job.number;
      link.textContent = job.title + " is running";
    } else if (job && watched === job.number && !job.seen) {
      watched = 0;
      const line = document.createElement("p");
      line.className = "strip news " + job.state;
      const link = document.createElement("a");
      link.href = job.state === "done" ? job.link : "job?id=" + job.number;
      link.textContent = job.state === "done" ? "See the result" : "See why";
      line.append(job.title + (job.state === "done" ? " is done. " : ": " + job.state + ". "), link);
      news.replaceChildren(line);
      // Home lists what ran: it is shown anew, unless somebody is at work in a form.
      if (document.body.dataset.screen === "home" && !document.activeElement.matches("input, select, textarea")) location.reload();
    }
    if (runs) strip.dataset.step = job.step;
  }
  tick();
  return runs;
}
// The time goes on between two answers.
function tick() {
  const words = seconds((performance.now() - begun) / 1000);
  if (here && here.dataset.state === "running") document.getElementById("clock").textContent = words;
  if (!strip.hidden && strip.dataset.step) strip.querySelector("span").textContent = strip.dataset.step + ", " + words;
}
setInterval(() => { if (begun) tick(); }, 1000);
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

// A file that is dropped is copied into a private folder; large ones are better named by their path.
for (const box of document.querySelectorAll(".drop")) {
  const path = document.getElementById(box.dataset.for);
  const choose = box.querySelector(".choose");
  const status = choose.querySelector("[role=status]");
  const send = async (file) => {
    if (!file) return;
    status.textContent = "Copying " + file.name + " ...";
    try {
      const answer = await (await fetch("drop?name=" + encodeURIComponent(file.name), { method: "POST", body: file })).json();
      status.textContent = answer.error || file.name + " is ready";
      if (!answer.path) return;
      path.value = answer.path;
      if (box.dataset.goes) {
        status.textContent = "Reading the columns of " + file.name + " ...";
        box.closest("form").querySelector("button[value=open]").click();
      }
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

// Bands: how many rows each holds, while their ends are edited; and a few of about equal size.
for (const cut of document.querySelectorAll(".cut")) {
  const role = document.getElementById(cut.dataset.role);
  const input = cut.querySelector("input");
  const output = cut.querySelector("output");
  const quick = cut.querySelector(".quick");
  const values = JSON.parse(cut.dataset.values || "[]");
  const shown = () => { cut.hidden = role.value !== "bands"; role.closest("tr").className = "as-" + role.value; };
  const edges = () => input.value.split(",").map((text) => text.trim()).filter(Boolean).map(Number);
  const count = () => {
    const ends = edges();
    if (!values.length) return;
    if (!ends.length || ends.some(Number.isNaN) || ends.some((end, place) => place && end <= ends[place - 1])) {
      output.textContent = ends.length ? "Write rising numbers with commas between." : "";
      return;
    }
    const held = new Array(ends.length + 1).fill(0);
    for (const [value, people] of values) held[ends.filter((end) => value >= end).length] += people;
    output.textContent = held.map((people, place) =>
      (place ? "from " + ends[place - 1] : "under " + ends[0]) + ": " + people.toLocaleString("en")).join(" · ");
  };
  const even = (parts) => {
    const all = values.reduce((sum, [, people]) => sum + people, 0);
    const found = [];
    let sum = 0;
    for (const [value, people] of values) {
      if (found.length < parts - 1 && sum >= all * (found.length + 1) / parts) found.push(value);
      sum += people;
    }
    return found;
  };
  if (values.length) {
    quick.hidden = false;
    for (const parts of [3, 4, 5]) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = parts + " equal";
      button.addEventListener("click", () => { input.value = even(parts).join(", "); count(); });
      quick.append(button, " ");
    }
  }
  input.addEventListener("input", count);
  role.addEventListener("change", () => {
    shown();
    if (role.value === "bands" && !input.value && values.length) { input.value = even(4).join(", "); count(); }
  });
  shown();
}

// A map of more tiles than a browser lays out as elements: only the part in view is drawn, with its names.
for (const map of document.querySelectorAll(".tilemap")) {
  const data = JSON.parse(map.querySelector("script").textContent);
  const canvas = map.querySelector("canvas");
  const frame = map.querySelector(".scroll");
  const room = map.querySelector(".room");
  const said = map.querySelector(".said");
  const [name, only] = map.querySelectorAll(".find input");
  const status = map.querySelector(".find [role=status]");
  const [side, left, top] = [24, 128, 96];
  const places = new Map();
  let [rows, columns, shown, cursor] = [[], [], [], -1];
  const words = ([row, column, people, why]) =>
    data.columns[column] + ", " + data.rows[row] + ": " + people.toLocaleString("en") + (people === 1 ? " person; " : " people; ") + (why || "within the limits") + ".";
  const pick = (place) => {
    cursor = Math.max(0, Math.min(place, shown.length - 1));
    const cell = shown[cursor];
    if (cell) said.textContent = words(cell);
    draw();
  };
  const into = () => {
    const cell = shown[cursor];
    if (!cell) return;
    const [x, y] = [cell.x * side, cell.y * side];
    frame.scrollLeft = Math.min(Math.max(frame.scrollLeft, x + side + left - frame.clientWidth), x);
    frame.scrollTop = Math.min(Math.max(frame.scrollTop, y + side + top - frame.clientHeight), y);
  };
  const short = (text) => text.length > 17 ? text.slice(0, 16) + "…" : text;
  function draw() {
    const colours = getComputedStyle(map);
    const colour = (token) => colours.getPropertyValue(token);
    const sharp = window.devicePixelRatio || 1;
    canvas.width = frame.clientWidth * sharp;
    canvas.height = frame.clientHeight * sharp;
    canvas.style.width = frame.clientWidth + "px";
    canvas.style.height = frame.clientHeight + "px";
    const pen = canvas.getContext("2d");
    pen.scale(sharp, sharp);
    pen.font = "12px sans-serif";
    const [x0, y0] = [left - frame.scrollLeft, top - frame.scrollTop];
    shown.forEach((cell, place) => {
      const [x, y] = [x0 + cell.x * side, y0 + cell.y * side];
      if (x < left - side || y < top - side || x > frame.clientWidth || y > frame.clientHeight) return;
      pen.fillStyle = colour(cell[3] ? "--bad" : "--exact-bg");
      pen.fillRect(x + 1, y + 1, side - 2, side - 2);
      if (cell[3]) { pen.fillStyle = colour("--paper"); pen.textAlign = "center"; pen.fillText("!", x + side / 2, y + 16); }
      if (place === cursor) { pen.strokeStyle = colour("--link"); pen.lineWidth = 3; pen.strokeRect(x + 1, y + 1, side - 2, side - 2); }
    });
    pen.fillStyle = colour("--paper");
    pen.fillRect(0, 0, frame.clientWidth, top);
    pen.fillRect(0, 0, left, frame.clientHeight);
    pen.fillStyle = colour("--ink");
    pen.textAlign = "right";
    rows.forEach((row, place) => { const y = y0 + place * side + 16; if (y > top) pen.fillText(short(data.rows[row]), left - 6, y); });
    pen.textAlign = "left";
    columns.forEach((column, place) => {
      const x = x0 + place * side + 16;
      if (x < left || x > frame.clientWidth + side) return;
      pen.save();
      pen.translate(x, top - 6);
      pen.rotate(-Math.PI / 2);
      pen.fillText(short(data.columns[column]).slice(0, 13), 0, 0);
      pen.restore();
    });
    pen.fillStyle = colour("--paper");
    pen.fillRect(0, 0, left, top);
  }
  function layout() {
    const wanted = name.value.trim().toLowerCase();
    const cells = data.cells.filter(([row, column, , why]) => (!only.checked || why)
      && (data.columns[column] + ", " + data.rows[row]).toLowerCase().includes(wanted));
    rows = [...new Set(cells.map((cell) => cell[0]))].sort((a, b) => a - b);
    columns = [...new Set(cells.map((cell) => cell[1]))].sort((a, b) => a - b);
    const [x, y] = [new Map(columns.map((each, place) => [each, place])), new Map(rows.map((each, place) => [each, place]))];
    places.clear();
    shown = cells.map((cell) => Object.assign([...cell], { x: x.get(cell[1]), y: y.get(cell[0]) }));
    shown.forEach((cell, place) => places.set(cell.x + " " + cell.y, place));
    room.style.width = left + columns.length * side + "px";
    room.style.height = top + rows.length * side + "px";
    frame.style.height = Math.max(160, Math.min(top + rows.length * side + 24, 576, .7 * innerHeight)) + "px";
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
  const at = (event) => {
    if (event.offsetX < left || event.offsetY < top) return undefined;
    const [x, y] = [event.offsetX - left + frame.scrollLeft, event.offsetY - top + frame.scrollTop];
    return places.get(Math.floor(x / side) + " " + Math.floor(y / side));
  };
  const move = (across, down) => {
    const cell = shown[cursor];
    if (!cell) return pick(0);
    let [x, y] = [cell.x + across, cell.y + down];
    while (x >= 0 && y >= 0 && x < columns.length && y < rows.length && !places.has(x + " " + y)) { x += across; y += down; }
    if (places.has(x + " " + y)) pick(places.get(x + " " + y));
  };
  const steps = { ArrowRight: [1, 0], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowUp: [0, -1] };
  canvas.addEventListener("mousemove", (event) => { const place = at(event); if (place !== undefined && place !== cursor) pick(place); });
  canvas.addEventListener("keydown", (event) => {
    if (steps[event.key]) { move(...steps[event.key]); into(); event.preventDefault(); }
    if (event.key === "Enter") go();
  });
  canvas.addEventListener("click", (event) => { const place = at(event); if (place !== undefined) { pick(place); go(); } });
  frame.addEventListener("scroll", draw);
  window.addEventListener("resize", draw);
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
