// Runs the SHA-256 study, which is in a folder of its own.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { benchmarkFolder } from './build.mjs';

const path = join(benchmarkFolder, 'study/index.mjs');

export const studyExists = existsSync(path);

/** `{ markdown, json, failed }` of the study; its charts go into the folder. */
export async function study({ options, binaries, folder }) {
  const { runStudy } = await import(pathToFileURL(path).href);
  return runStudy({ options, binaries, folder });
}
