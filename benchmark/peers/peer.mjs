// What every peer's process does alike: which handler it was asked for, and how it says it is up.
export const handlerName = option('handler');
if (!['echo', 'headline', 'fanout', 'channels'].includes(handlerName)) {
  throw new TypeError(`--handler must be echo, headline, fanout or channels, not ${handlerName}`);
}

/** The value of `--name=value` on the command line. */
export function option(name, fallback) {
  const word = process.argv.find((argument) => argument.startsWith(`--${name}=`));
  return word?.slice(name.length + 3) ?? fallback;
}

/** Tells the runner the port; the process lives until the runner ends it. */
export function ready(port) {
  process.stdout.write(`ready ${port}\n`);
}
