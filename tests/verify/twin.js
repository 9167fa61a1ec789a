// Runs the checker in JavaScript on the cases of standard input, one JSON document per line; prints a result per line.
"use strict";
const { check } = require(process.argv[2]);
const bytes = (text) => new Uint8Array(Buffer.from(text, "base64"));
const folder = (held) => (held ? new Map(Object.entries(held).map(([name, text]) => [name, bytes(text)])) : null);
(async () => {
  for await (const line of require("node:readline").createInterface({ input: process.stdin })) {
    const { published, auditors, key, roll } = JSON.parse(line);
    console.log(JSON.stringify(await check(folder(published), folder(auditors), key ? bytes(key) : null, roll ? bytes(roll) : null)));
  }
})();
