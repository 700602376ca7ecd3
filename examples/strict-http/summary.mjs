// @ts-check
/** Sums a log up: `node examples/strict-http/summary.mjs server.log`. */
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';

const LINE =
  /^\[[^\]]+\] (?:(?<kind>INFO|ERROR): |(?<method>\S+) (?<uri>\S+) (?<status>[0-9]{3}) \((?<ms>[0-9]+)ms\)$)/;

/** @type {Record<string, Map<string, number>>} */
const counts = { status: new Map(), method: new Map(), uri: new Map(), kind: new Map() };
let requests = 0;
let ms = 0;
for await (const line of createInterface({ input: createReadStream(process.argv[2] ?? 'server.log') })) {
  const found = LINE.exec(line)?.groups ?? {};
  for (const [name, count] of Object.entries(counts)) {
    const value = found[name];
    if (value !== undefined) count.set(value, (count.get(value) ?? 0) + 1);
  }
  if (found['status'] === undefined) continue;
  requests += 1;
  ms += Number(found['ms']);
}

console.log(`${requests} requests, ${requests === 0 ? 0 : (ms / requests).toFixed(1)} ms each`);
show('Statuses', counts['status'], 20);
show('Methods', counts['method'], 20);
show('Targets', counts['uri'], 10);
show('Other lines', counts['kind'], 2);

/**
 * @param {string} title
 * @param {Map<string, number> | undefined} count
 * @param {number} most
 */
function show(title, count = new Map(), most) {
  console.log(`${title}:`);
  const sorted = [...count].sort(([, one], [, other]) => other - one).slice(0, most);
  for (const [value, times] of sorted) console.log(`${String(times).padStart(8)} ${value}`);
}
