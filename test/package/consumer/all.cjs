module.exports = require("stocklot");
