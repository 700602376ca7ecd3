// What every peer's process does alike: which handler it was asked for, and how it says it is up.
const argument = process.argv.find((word) => word.startsWith('--handler='));
export const handlerName = argument?.slice('--handler='.length);
if (!['echo', 'headline', 'fanout'].includes(handlerName)) {
  throw new TypeError(`--handler must be echo, headline or fanout, not ${handlerName}`);
}

/** Tells the runner the port; the process lives until the runner ends it. */
export function ready(port) {
  process.stdout.write(`ready ${port}\n`);
}
