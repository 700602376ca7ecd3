// A server of `node:http` as a worker module.
import { nodeHandler } from '../millrace-node.mjs';
import { APPS } from '../node-frameworks.mjs';

export default nodeHandler(APPS.server());
