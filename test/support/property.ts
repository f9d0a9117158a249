import fc from 'fast-check'

// The same examples each time, so that a failure is somebody's change; another seed by hand finds others.
fc.configureGlobal({ seed: Number(process.env.PROPERTY_SEED ?? 20_261_121) })

export { fc }
