// An app of a framework, unchanged, as a worker module.
import { nodeHandler } from '../millrace-node.mjs';
import { APPS } from '../node-frameworks.mjs';

export default nodeHandler(APPS.fastify());
