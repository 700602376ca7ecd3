// The package of the original implementation of Sockety: the user names it, as for `import`.

/** What the servers and clients of the peer `sockety` import. */
export function socketyModule(environment = process.env) {
  return environment.SOCKETY_MODULE || 'sockety';
}

/** The package of a module: `a` of `a/b`, `@a/b` of `@a/b/c`. */
export function packageOf(module) {
  return module
    .split('/')
    .slice(0, module.startsWith('@') ? 2 : 1)
    .join('/');
}
