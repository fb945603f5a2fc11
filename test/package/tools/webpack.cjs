// Bundles a program for Node.js with webpack's production defaults. Warnings are errors. Only ES modules are minified.
const { basename, dirname, extname } = require("node:path");
const webpack = require("webpack");

const [entry, output] = process.argv.slice(2);
const isModule = extname(output) === ".mjs";

webpack(
  {
    mode: "production",
    target: "node20",
    context: process.cwd(),
    entry,
    experiments: { outputModule: isModule },
    optimization: { minimize: isModule },
    output: {
      path: dirname(output),
      filename: basename(output),
      library: { type: isModule ? "module" : "commonjs2" },
    },
  },
  (error, stats) => {
    const problem = error ?? (stats.hasErrors() || stats.hasWarnings() ? stats.toString("errors-warnings") : undefined);
    if (problem) {
      console.error(problem);
      process.exitCode = 1;
    }
  },
);
