// `npm run docs`: the API reference from the doc comments into docs/api (not committed), Rust's beside it.
import { fail, run, tool } from './process.mjs';
import { setUp } from './setup.mjs';

/** The crates are not published: who reads their documentation has the sources, and links into private parts help. */
const RUSTDOCFLAGS = '-D warnings -A rustdoc::private_intra_doc_links';

async function makeDocs() {
  await setUp();
  await run(['cargo', 'xtask', 'generate']);
  await run(tool('typedoc'));
  await run(['cargo', 'doc', '--no-deps', '--workspace'], { env: { RUSTDOCFLAGS } });
  console.log('\ndocs/api/index.html has the JavaScript API');
}

await makeDocs().catch(fail);
