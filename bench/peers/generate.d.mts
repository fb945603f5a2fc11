export function generateClient(output: URL): Promise<void>;
