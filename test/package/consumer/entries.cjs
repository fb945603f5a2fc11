// What the entry points named in the arguments give to require() and to import().
async function main() {
  const found = {};
  for (const name of process.argv.slice(2)) {
    // Node adds these two to what a CommonJS module exports by name.
    const { default: none, "module.exports": alsoNone, ...imported } = await import(name);
    found[name] = { required: Object.keys(require(name)).sort(), imported: Object.keys(imported).sort() };
  }
  console.log(JSON.stringify(found));
}

main();
