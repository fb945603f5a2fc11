// Prints what require() and import() return for the entry points in the arguments.
async function main() {
  const found = {};
  for (const name of process.argv.slice(2)) {
    // Node adds these two to the named exports of a CommonJS module.
    const { default: none, "module.exports": alsoNone, ...imported } = await import(name);
    found[name] = { required: Object.keys(require(name)).sort(), imported: Object.keys(imported).sort() };
  }
  console.log(JSON.stringify(found));
}

main();
