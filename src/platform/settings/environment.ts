export type Variables = Record<string, string | undefined>

// biome-ignore lint/style/noProcessEnv: the one place that reads the environment
export const environmentVariables: Variables = process.env
