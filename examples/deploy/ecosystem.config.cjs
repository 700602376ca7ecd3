// pm2 start ecosystem.config.cjs
module.exports = {
  apps: [
    {
      name: 'chat',
      script: 'server.mjs',
      // One process has threads for all cores, and its workers share their channels: PM2's cluster mode would start several
      // separate servers.
      exec_mode: 'fork',
      instances: 1,
      env: { NODE_ENV: 'production', BIND: '127.0.0.1:8080', ADMIN: '127.0.0.1:9100' },
      // PM2 sends SIGINT; longer than the server's drain and the longest handleClose
      kill_timeout: 20_000,
      max_memory_restart: '2G',
    },
  ],
};
