// Shows the forms of the reference, and calls the service that served the page. A key is kept until the page is closed.
const base = document.querySelector('link[rel=icon]').href.replace(/\/docs\/icon\.svg$/, '')
const keys = [...document.querySelectorAll('input[data-in=key]')]

for (const input of keys)
  input.addEventListener('input', () => {
    for (const other of keys) other.value = input.value
  })

for (const details of document.querySelectorAll('details.try')) {
  details.hidden = false
  const form = details.querySelector('form')
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    const output = form.querySelector('output')
    output.textContent = 'Waiting for the answer…'
    output.textContent = await call(form).catch((error) => `No answer: ${error.message}`)
  })
}

async function call(form) {
  const filled = (place) =>
    [...form.querySelectorAll(`[data-in=${place}]`)].filter(({ value }) => value !== '')
  const headers = filled('header').map((input) => [input.dataset.name, input.value])
  for (const { value } of filled('key')) headers.push(['Authorization', `Bearer ${value}`])
  const [body] = filled('body')
  if (body) headers.push(['Content-Type', 'application/json'])
  let path = form.dataset.path
  for (const { dataset, value } of filled('path'))
    path = path.replace(`{${dataset.name}}`, encodeURIComponent(value))
  const query = new URLSearchParams(
    filled('query').map((input) => [input.dataset.name, input.value]),
  ).toString()
  const response = await fetch(base + path + (query && `?${query}`), {
    method: form.dataset.method,
    headers,
    body: body?.value,
  })
  const text = await response.text()
  return [`${response.status} ${response.statusText}`, ...response.headers]
    .map((line) => (Array.isArray(line) ? line.join(': ') : line))
    .concat('', text)
    .join('\n')
}
