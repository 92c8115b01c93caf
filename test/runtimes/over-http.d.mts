export function overHttp(
  origin: string,
  bus: { publish(): unknown; subscriberCount(): number | Promise<number> },
): Promise<unknown>
