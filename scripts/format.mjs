// `npm run format`: fixes those complaints of `npm run lint` that a tool can fix.
import { fail, run, tool } from './process.mjs';

async function format() {
  await run(['cargo', 'fmt', '--all']);
  await run([...tool('@biomejs/biome', 'biome'), 'check', '--write']);
  await run(['cargo', 'xtask', 'generate']);
}

await format().catch(fail);
