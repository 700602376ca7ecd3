// What TypeScript makes of createSplice. Compiled, not run.
import {
  createSplice,
  type Duration,
  type Size,
  type SpliceListener,
  type SpliceListenerLimits,
  type SpliceServer,
  type SpliceServerOptions,
  type SpliceTerms,
  type SpliceTlsOptions,
  // biome-ignore lint/correctness/useImportExtensions: the built file, as users get it
} from '../../js/dist/splice.mjs';

const limits: SpliceListenerLimits = { targetsPerSession: 20, messageBytes: 1, requestHeadBytes: 1 };
const tls: SpliceTlsOptions = { cert: 'cert.pem', key: 'key.pem', ca: ['ca.pem'] };
const times: Duration[] = [5, '5s'];
const sizes: Size[] = [5, '5MB'];
const terms: SpliceTerms = {
  anyTarget: true,
  privateTargets: false,
  targetCompression: true,
  targetCa: 'ca.pem',
  origins: ['https://a.example'],
};
const listener: SpliceListener = {
  address: ':0',
  protocol: 'splice',
  tls: false,
  limits,
  proxyProtocol: true,
  ...terms,
};
const options: SpliceServerOptions = {
  bind: ['127.0.0.1:0', listener, { address: 'unix:/run/splice', metrics: '/m' }],
  tls,
  allowedHostnames: 'a.example b.example',
  frameSizeLimit: sizes[0] ?? '5MB',
  writeTimeout: times[0] ?? '5s',
  dialTimeout: '10s',
  limits: { ...limits, connections: 10 },
  eventName: 'onSocketClosed',
  binary: true,
  trustProxy: ['loopback'],
  onError: (error) => error.code,
  onLog: ({ level, message }) => [level, message],
};
void createSplice(options).then(async (server: SpliceServer) => {
  const addresses: string[] = server.addresses;
  await server.reloadTls(tls);
  await server.stop({ drain: server.stats().connections + addresses.length });
});

// @ts-expect-error `bind` is required
void createSplice({ anyTarget: true });
// @ts-expect-error it has no workers
void createSplice({ bind: ':0', workerPath: './worker.js' });
// @ts-expect-error nor its own sockets
void createSplice({ bind: { address: ':0', localTargets: true } });
// @ts-expect-error it has no other protocol
void createSplice({ bind: { address: ':0', protocol: 'http' } });
// @ts-expect-error there is no such event
void createSplice({ bind: ':0', eventName: 'onClosed' });
