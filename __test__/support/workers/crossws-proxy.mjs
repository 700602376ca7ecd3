// `createWebSocketProxy` of crossws as hooks. The query names the upstream, the path the options.
import { createWebSocketProxy } from 'crossws';

import millraceAdapter from '../millrace-crossws.mjs';

const target = (peer) => new URL(peer.request.url).searchParams.get('to');
const later = async (peer) => {
  await new Promise((resolve) => setTimeout(resolve, 20));
  return target(peer);
};

const proxies = {
  '/': createWebSocketProxy(target),
  '/async': createWebSocketProxy({ target: later }),
  '/rejecting': createWebSocketProxy({ target: () => Promise.reject(new Error('no upstream')) }),
  '/hasty': createWebSocketProxy({ target, connectTimeout: 50 }),
  '/limited': createWebSocketProxy({ target, maxBufferSize: 5 }),
  '/renaming': createWebSocketProxy({ target, forwardProtocol: { outer: 'inner' } }),
};

export default millraceAdapter({ resolve: (request) => proxies[new URL(request.url).pathname] }).handlers;
