// @ts-check
/** @type {import('next').NextConfig} */
export default {
  // Pages and routes have the sockets of server.mjs only if they use the same copy of the package, not one in their bundle.
  serverExternalPackages: ['millrace'],
};
