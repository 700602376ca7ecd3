// Instances of the adapter for crossws on gateways of their own, which a sync driver connects.
import { broadcastChannel } from 'crossws/sync';

import millraceAdapter from '../millrace-crossws.mjs';

/** Instances by name, so that later calls find them. */
const instances = new Map();

/** Starts an instance. `sync`: the name of the channel of its driver. Returns its address. */
async function start(millrace, name, sync) {
  const state = { closed: false, errors: [] };
  const driver = sync === undefined ? undefined : broadcastChannel({ channel: sync });
  const adapter = millraceAdapter({
    hooks: {
      open: (peer) => peer.subscribe('chat'),
      message: (peer, message) =>
        peer.publish('chat', typeof message.rawData === 'string' ? message.text() : message.uint8Array()),
    },
    ...(driver && {
      sync(context) {
        const made = driver(context);
        const close = () => {
          state.closed = true;
          return made.close();
        };
        return { ...made, subscribe: made.subscribe.bind(made), publish: made.publish.bind(made), close };
      },
    }),
  });
  const server = await millrace.createGateway().start({ bind: '127.0.0.1:0', handlers: adapter.handlers });
  instances.set(name, { adapter, server, state });
  return server.addresses[0];
}

async function stop(name) {
  const { adapter, server, state } = instances.get(name);
  await adapter.close(1000, 'shutting down');
  await server.stop();
  return state.closed;
}

/** The stages that `onError` gets of a driver that fails. */
async function failing() {
  const stages = [];
  const fail = () => Promise.reject(new Error('no backplane'));
  const adapter = millraceAdapter({
    hooks: {},
    sync: () => ({ subscribe: fail, publish: fail }),
    onError: (error, { stage }) => stages.push(`${stage}: ${error.message}`),
  });
  adapter.publish('chat', 'hello');
  await new Promise(setImmediate);
  await adapter.close();
  return stages;
}

export default function run(millrace, what, ...given) {
  if (what === 'start') return start(millrace, ...given);
  return what === 'stop' ? stop(...given) : failing();
}
