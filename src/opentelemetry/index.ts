/**
 * Spans and metrics of all clients in the process, by the conventions of OpenTelemetry.
 *
 * @module stocklot/opentelemetry
 */
export { type InstrumentOptions, instrumentStocklot } from "./instrument.js";
