// Keys and tokens of NATS, made by Node's own Ed25519: NKeys (https://docs.nats.io/running-a-nats-service/configuration/securing_nats/auth_intro/nkey_auth)
// and JWTs of operators, accounts and users (https://docs.nats.io/running-a-nats-service/configuration/securing_nats/jwt).
import { generateKeyPairSync, sign } from 'node:crypto';

const PREFIXES = { operator: 14 << 3, account: 0, user: 20 << 3 };
const SEED = 18 << 3;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

function base32(bytes) {
  let text = '';
  let bits = 0;
  let value = 0;
  for (const byte of bytes) {
    value = (value << 8) | byte;
    bits += 8;
    for (; bits >= 5; bits -= 5) text += ALPHABET[(value >> (bits - 5)) & 31];
    value &= 31;
  }
  return bits === 0 ? text : text + ALPHABET[(value << (5 - bits)) & 31];
}

/** CRC-16 with the polynomial 0x1021, from 0 on. */
function crc16(bytes) {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff;
  }
  return crc;
}

function encoded(bytes) {
  const crc = crc16(bytes);
  return base32([...bytes, crc & 255, crc >> 8]);
}

/** A new key. `kind`: `'operator'`, `'account'` or `'user'`. */
export function newKey(kind) {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const prefix = PREFIXES[kind];
  const secret = Buffer.from(privateKey.export({ format: 'jwk' }).d, 'base64url');
  const open = Buffer.from(publicKey.export({ format: 'jwk' }).x, 'base64url');
  return {
    privateKey,
    public: encoded([prefix, ...open]),
    seed: encoded([SEED | (prefix >> 5), (prefix & 31) << 3, ...secret]),
  };
}

/** A token for a key's public part, signed by another key. */
export function newToken(issuer, subject, name, nats) {
  const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = { jti: name, iat: Math.floor(Date.now() / 1000), iss: issuer.public, name, sub: subject.public };
  const text = `${part({ typ: 'JWT', alg: 'ed25519-nkey' })}.${part({ ...claims, nats: { ...nats, version: 2 } })}`;
  return `${text}.${sign(null, Buffer.from(text), issuer.privateKey).toString('base64url')}`;
}

/** The contents of a credentials file. */
export function credentialsFile(token, seed) {
  return `-----BEGIN NATS USER JWT-----
${token}
------END NATS USER JWT------

************************* IMPORTANT *************************
NKEY Seed printed below can be used to sign and prove identity.

-----BEGIN USER NKEY SEED-----
${seed}
------END USER NKEY SEED------

*************************************************************
`;
}
