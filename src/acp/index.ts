/**
 * The Agent Client Protocol over Streamable HTTP, with streams that survive a cut: {@link createAcpBridge} on the server,
 * {@link createAcpHttpStream} in the client. Speaks the wire of `@agentclientprotocol/sdk` 2.4 and needs it nowhere.
 *
 * Not here: votes on a permission from another connection than its own, ACP v2's own resume, and agents that never ask
 * over HTTP.
 */

export { type AcpBridge, type AcpBridgeStats, createAcpBridge } from './bridge.ts'
export type { AcpHttpStreamOptions } from './client-options.ts'
export { createAcpHttpStream } from './client-stream.ts'
export type { AcpDiagnostic, ConnectionEnd } from './diagnostics.ts'
export type { MessageStream } from './messages.ts'
export type { AcpBridgeOptions, AcpLimits, AgentContext } from './options.ts'
