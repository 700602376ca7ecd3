// Options for a small and fast build.
export default { eslint: { ignoreDuringBuilds: true }, typescript: { ignoreBuildErrors: true } };
