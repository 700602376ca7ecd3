// Shared by all peers' processes: reads the requested handler, and reports that the server is ready.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

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

/** Whether messages are compressed (`--compression=yes`). */
export const compression = option('compression') === 'yes';

/** Certificate and key in PEM of the folder `--tls=FOLDER`, undefined without it. */
export const tls = credentials(option('tls'));

function credentials(folder) {
  if (folder === undefined) return undefined;
  return { cert: readFileSync(join(folder, 'cert.pem'), 'utf8'), key: readFileSync(join(folder, 'key.pem'), 'utf8') };
}

/** Tells the runner the port, and which process is measured if not this one. The process lives until the runner ends it. */
export function ready(port, pid = process.pid) {
  process.stdout.write(`ready ${port} ${pid}\n`);
}
