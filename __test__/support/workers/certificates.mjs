// Sends each client the certificate that handleOpen got, as JSON.
import { send } from '../millrace.mjs';

export function handleOpen(socketId, _ip, _headers, { clientCertificate }) {
  const { subject, raw } = clientCertificate ?? {};
  send(socketId, JSON.stringify(clientCertificate ? { subject, raw: Buffer.from(raw).toString('base64') } : null));
}
