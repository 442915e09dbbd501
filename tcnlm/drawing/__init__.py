"""Figures, trees and markup: what several pages draw with."""
