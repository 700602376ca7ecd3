# The chat example in a container:
#   docker build --tag millrace-chat .
#   docker run --rm --publish 3000:3000 --ulimit nofile=65536:65536 millrace-chat
# The first stage needs Rust and Node.js to build; the image has Node.js, the package and the example.

FROM node:22-bookworm-slim AS node

FROM rust:1-bookworm AS build
COPY --from=node /usr/local/bin/node /usr/local/bin/node
COPY --from=node /usr/local/lib/node_modules /usr/local/lib/node_modules
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm
WORKDIR /build
COPY . .
RUN npm run build

FROM node:22-bookworm-slim
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /build/package.json ./
COPY --from=build /build/js/dist ./js/dist
COPY --from=build /build/js/native ./js/native
COPY --from=build /build/examples ./examples
USER 1000
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=3s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:3000/').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "examples/chat/server.mjs", "--host", "0.0.0.0"]
