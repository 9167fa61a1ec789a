// Runs the checkers in JavaScript on the cases of standard input, one JSON document per line; prints a result per line.
"use strict";
const { check, beside } = require(process.argv[2]);
process.argv.slice(3).forEach((file) => require(file)); // for signatures, suppressed tables and intervals
const bytes = (text) => new Uint8Array(Buffer.from(text, "base64"));
const folder = (held) => (held ? new Map(Object.entries(held).map(([name, text]) => [name, bytes(text)])) : null);
(async () => {
  for await (const line of require("node:readline").createInterface({ input: process.stdin })) {
    const { published, auditors, key, roll, more, certificate } = JSON.parse(line);
    const given = [folder(published), folder(auditors), key ? bytes(key) : null, roll ? bytes(roll) : null, undefined, folder(more || {})];
    console.log(JSON.stringify(await (certificate ? beside.checkOne(bytes(certificate), given[0], "c.json") : check(...given))));
  }
})();
