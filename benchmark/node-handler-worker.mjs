// The JSON route of `node-handler.mjs` in a worker.
import express from 'express';

// biome-ignore lint/correctness/useImportExtensions: the built file, not its types
import { nodeHandler } from '../js/dist/node.mjs';

const app = express();
app.get('/json', (_req, res) => res.json({ hello: 'world', n: 1 }));

export default nodeHandler(app);
