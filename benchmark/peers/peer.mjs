// Shared by all peers' processes: reads the requested handler, and reports that the server is ready.
export const handlerName = option('handler');
const known = [
  ...['echo', 'headline', 'fanout', 'channels'],
  ...['http-file', 'http-fetch', 'http-app', 'qjs', 'qjs-fetch', 'sockety', 'splice'],
];
if (!known.includes(handlerName)) throw new TypeError(`--handler must be one of ${known}, not ${handlerName}`);

/** The value of `--name=value` on the command line. */
export function option(name, fallback) {
  const word = process.argv.find((argument) => argument.startsWith(`--${name}=`));
  return word?.slice(name.length + 3) ?? fallback;
}

/** Tells the runner the port, and the process to measure if it is another one. The process runs until the runner ends it. */
export function ready(port, pid = process.pid) {
  process.stdout.write(`ready ${port} ${pid}\n`);
}
