const items = Array.from({ length: 2000 }, (_, id) => ({
  id,
  name: `item ${id}`,
  tags: ['a', 'b'],
  nested: { id },
}))
const text = JSON.stringify(items)
const times = 20

/**
 * CPU time that a fixed calculation takes now, in ms. A virtual machine's speed changes with what else its host does: then this
 * changes too, whatever the service does.
 */
export function fixedWorkMs(): number {
  const before = process.cpuUsage()
  for (let i = 0; i < times; i++) JSON.stringify(JSON.parse(text))
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
