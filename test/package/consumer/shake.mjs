import { parseServiceDate } from "stocklot";

console.log(parseServiceDate("2026-01-31T08:00:00").toISOString());
