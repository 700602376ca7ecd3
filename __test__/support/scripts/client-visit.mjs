// A program that uses the client with what its runtime has. The arguments are the server's URL and, perhaps, `sse`. A line
// on stdout requests something of the server, the last line has the results.
// biome-ignore lint/correctness/useImportExtensions: the built file, not its types
import { createClient } from '../../../js/dist/client.mjs';
import { visit } from '../client-visit.mjs';

const [url, fallback] = process.argv.slice(2);
const cut = () => console.log('cut');
const publish = (text) => console.log(`publish ${text}`);
console.log(JSON.stringify(await visit(createClient, { url, options: fallback ? { fallback } : {}, cut, publish })));
