export * from "stocklot";
