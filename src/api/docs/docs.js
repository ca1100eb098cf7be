// Adds to pages that work without it: copy buttons, one choice of the language of samples, and the forms that call a route.

// The language is chosen once, for all samples of all pages.
const kept = 'language of samples'
const choose = (language) => {
  for (const input of document.querySelectorAll('.samples > input'))
    if (input.value === language) input.checked = true
}
for (const input of document.querySelectorAll('.samples > input'))
  input.addEventListener('change', () => {
    choose(input.value)
    localStorage.setItem(kept, input.value)
  })
choose(localStorage.getItem(kept))

for (const block of document.querySelectorAll('pre')) {
  const frame = document.createElement('div')
  frame.className = 'copied'
  block.replaceWith(frame)
  const button = document.createElement('button')
  button.type = 'button'
  button.textContent = 'Copy'
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(block.textContent)
    button.textContent = 'Copied'
    setTimeout(() => {
      button.textContent = 'Copy'
    }, 1500)
  })
  frame.append(block, ...(navigator.clipboard ? [button] : []))
}

// A form calls the service that served the page. A key is kept until the tab is closed: a page a route would ask for it each time.
const base = document.querySelector('link[rel=icon]').href.replace(/\/docs\/icon\.svg$/, '')

for (const details of document.querySelectorAll('details.try')) {
  details.hidden = false
  const form = details.querySelector('form')
  const key = form.querySelector('input[data-in=key]')
  key.value = sessionStorage.getItem('key') ?? ''
  key.addEventListener('change', () => sessionStorage.setItem('key', key.value))
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
