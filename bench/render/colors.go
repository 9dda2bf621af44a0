package render

import (
	"image/color"
)

// The colours of lines. They are neither light nor dark: three times as light as a dark page, and a
// third as light as a white one, at least.
var (
	red    = color.RGBA{R: 214, G: 47, B: 47, A: 255}
	amber  = color.RGBA{R: 178, G: 122, A: 255}
	green  = color.RGBA{R: 63, G: 145, B: 66, A: 255}
	teal   = color.RGBA{R: 20, G: 144, B: 138, A: 255}
	blue   = color.RGBA{R: 59, G: 115, B: 224, A: 255}
	purple = color.RGBA{R: 154, G: 82, B: 199, A: 255}
	gray   = color.RGBA{R: 128, G: 128, B: 128, A: 255}
)
