{% include "safemargin_verify.js" %}
{% include "safemargin_verify_signature.js" %}
{% include "safemargin_verify_tables.js" %}
{% include "safemargin_verify_intervals.js" %}
// The section "Check it yourself": reads the files that somebody chooses or drops, and shows what the checker finds.
for (const form of document.querySelectorAll("form.check")) {
  const held = { published: null, auditors: null };
  const status = form.querySelector("[role=status]");
  const read = async (file) => new Uint8Array(await file.arrayBuffer());
  const folder = async (files) => { // by name; what lies deeper keeps its path, which no manifest names
    const named = files.map(([path, file]) => [path.split("/").length === 2 ? path.split("/")[1] : path, file]);
    return new Map(await Promise.all(named.map(async ([name, file]) => [name, await read(file)])));
  };
  const inside = async (entry, path) => { // every file of a dropped file or folder
    if (entry.isFile) return [[path + entry.name, await new Promise((done, fail) => entry.file(done, fail))]];
    const reader = entry.createReader(), found = [];
    for (;;) {
      const some = await new Promise((done, fail) => reader.readEntries(done, fail));
      if (!some.length) return found;
      for (const each of some) found.push(...await inside(each, path + entry.name + "/"));
    }
  };
  const say = (field, files) => {
    held[field.dataset.kind] = files;
    field.classList.toggle("given", files.size > 0);
    field.querySelector("legend").dataset.files = files.size + " files";
  };
  for (const field of form.querySelectorAll("fieldset[data-kind=published], fieldset[data-kind=auditors]")) {
    field.querySelector("input").addEventListener("change", async (event) => {
      say(field, await folder([...event.target.files].map((file) => [file.webkitRelativePath || file.name, file])));
    });
    field.addEventListener("dragover", (event) => event.preventDefault());
    field.addEventListener("drop", async (event) => {
      event.preventDefault();
      const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry()).filter(Boolean);
      const files = [];
      for (const entry of entries) files.push(...await inside(entry, ""));
      say(field, await folder(files));
    });
  }
  const chosen = async (name) => new Map(await Promise.all([...form.elements[name].files].map(async (file) => [file.name, await read(file)])));
  const verdict = async (pause) => { // of a certificate by itself, or of the folder
    const [roll, key, certificate, more] = await Promise.all(["roll", "key", "certificate", "more"].map(chosen)), [own] = certificate;
    const one = ([file]) => (file ? file[1] : null), both = [...held.published || [], ...more];
    const twice = both.find(([name, content]) => both.some(([other, bytes]) => other === name && String(bytes) !== String(content)));
    const wrong = own && twice ? twice[0] + ": two files have this name" : own && key.size ? "key: is for folders that are signed; this is one certificate" : "";
    if (wrong) return { outcome: "fails", failures: [wrong], unchecked: [], warnings: [] };
    if (own) return safemarginVerify.beside.checkOne(own[1], new Map(both), own[0]);
    return safemarginVerify.check(held.published, held.auditors, one([...key]), one([...roll]), pause, more);
  };
  const line = (kind, text, tone) => Object.assign(document.createElement(kind), { textContent: text, className: tone || "" });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const isGiven = held.published || form.elements.certificate.files.length;
    if (!isGiven) { status.replaceChildren(line("p", "Choose the folder published, or a certificate by itself, first.", "warning")); return; }
    const pause = (name) => {
      status.replaceChildren(line("p", "Checking " + name + " …"));
      return new Promise((done) => setTimeout(done));
    };
    await pause("the files");
    const result = await verdict(pause);
    const [state, mark] = { holds: ["sound", "✓"], fails: ["unsound", "✕"], "not checked": ["partly", "!"] }[result.outcome];
    const card = line("div", "", "card " + state), list = document.createElement("ul");
    card.append(line("p", mark + " Outcome: " + result.outcome + ".", "verdict"));
    if (result.outcome === "not checked" && result.files) card.append(line("p", "The files agree with each other; nothing shows the statement."));
    if (result.outcome === "holds") {
      const counts = [result.cells, result.tables, result.moves].map((count) => count.toLocaleString("en"));
      card.append(line("p", counts[0] + " counts, " + counts[1] + " witness tables, " + counts[2] + " moves: all checked."));
      card.append(line("p", "Checked: " + result.statement));
    }
    const notes = result.failures.map((text) => "Finding: " + text);
    if (!result.failures.length) {
      notes.push(...result.warnings.map((text) => "Note: " + text), ...result.unchecked.map((text) => "Not checked: " + text));
    }
    list.append(...notes.map((text) => line("li", text)));
    card.append(list);
    status.replaceChildren(card);
  });
  form.hidden = false;
}
