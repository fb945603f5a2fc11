require("./runners.cjs").testTheClient(jest);
