// @ts-check
/**
 * Stores the files of one message. Each is written to a temporary file that did not exist before, and renamed when all
 * of them are complete; if something fails before that, no file is left behind.
 */
import { createHash, randomUUID } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';

/** @typedef {{ name: string, size: number, sha256: string }} Stored */

/**
 * Replaces an existing file of the same name.
 * @param {import('millrace/sockety').MessageFileStream[]} files
 * @param {string} folder
 * @returns {Promise<Stored[]>} in the order of the files
 */
export async function storeAll(files, folder) {
  const plans = files.map((file) => ({
    file,
    name: nameOf(file),
    temporary: path.join(folder, `.${randomUUID()}.part`),
  }));
  try {
    // Some file systems do not distinguish upper and lower case.
    if (new Set(plans.map(({ name }) => name.toLowerCase())).size < plans.length)
      throw new Error('two files have one name');
    // In parallel, because the sender chooses which file comes first. A file that fails cancels the others.
    const stop = new AbortController();
    const writing = plans.map(async ({ file, name, temporary }) => {
      try {
        return { name, ...(await write(file, temporary, stop.signal)) };
      } catch (error) {
        stop.abort(error);
        throw error;
      }
    });
    await Promise.allSettled(writing);
    stop.signal.throwIfAborted();
    const stored = await Promise.all(writing);
    for (const { name, temporary } of plans) await rename(temporary, path.join(folder, name));
    return stored;
  } catch (error) {
    for (const { file, temporary } of plans) {
      file.destroy();
      await rm(temporary, { force: true });
    }
    throw error;
  }
}

/**
 * @param {import('millrace/sockety').MessageFileStream} file
 * @param {string} target which must not exist
 * @param {AbortSignal} signal
 */
async function write(file, target, signal) {
  const handle = await open(target, 'wx');
  const hash = createHash('sha256');
  let size = 0;
  await pipeline(
    file,
    async function* (pieces) {
      for await (const piece of pieces) {
        hash.update(piece);
        size += piece.length;
        yield piece;
      }
    },
    handle.createWriteStream(),
    { signal },
  );
  return { size, sha256: hash.digest('hex') };
}

/**
 * `safeName` is the last part of the sender's path. A folder of uploads needs more: no hidden files, and no names that
 * are a device or a stream of another file on Windows.
 * @param {import('millrace/sockety').MessageFileStream} file
 */
function nameOf({ safeName }) {
  const name = safeName.replace(/[<>:"|?*]/g, '_').replace(/^\.+|[. ]+$/g, '') || 'file';
  return DEVICE.test(name) ? `_${name}` : name;
}

const DEVICE = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;
